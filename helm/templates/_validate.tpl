{{/* What the schema of the values cannot say. */}}
{{- define "processor.validate" -}}
{{- $name := include "processor.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%q cannot be the name of a Service: it must begin with a letter and have letters, digits and - alone. Give the release another name, or set fullnameOverride" $name) -}}
{{- end -}}
{{- $lanes := int (include "processor.lanes" .) -}}
{{- $keda := .Values.autoscaling.keda -}}
{{- $hpa := .Values.autoscaling.hpa -}}
{{- range list "KAFKA_BROKERS" "SCHEMA_REGISTRY_URL" "API_BASE_URL" -}}
{{- if eq (include "processor.setting" (list $ . "")) "" -}}{{ fail (printf "settings.%s is required" .) }}{{- end -}}
{{- end -}}
{{- range list "API_TOKEN_ID" "API_CLIENT_SECRET" -}}
{{- if not (hasKey $.Values.secretSettings .) -}}{{ fail (printf "secretSettings.%s is required: {secret: name, key: key}" .) }}{{- end -}}
{{- end -}}
{{- $isLoopback := has (include "processor.setting" (list . "HTTP_HOST" "127.0.0.1")) (list "127.0.0.1" "::1" "localhost") -}}
{{- if not (or (hasKey .Values.secretSettings "HTTP_AUTH_TOKEN") $isLoopback .Values.http.insecure) -}}
{{- fail "secretSettings.HTTP_AUTH_TOKEN is required: without it page, state and metrics are open to everyone who reaches the port. Set it, or say http.insecure=true" -}}
{{- end -}}
{{- if and $keda.enabled $hpa.enabled -}}
{{- fail "autoscaling.keda and autoscaling.hpa are both enabled: two autoscalers on one workload undo each other, so enable one" -}}
{{- end -}}
{{- if and $keda.enabled (not $keda.prometheusUrl) -}}{{ fail "autoscaling.keda.prometheusUrl is required with KEDA" }}{{- end -}}
{{- if and (not $keda.enabled) (not $hpa.enabled) (gt (int .Values.replicas) $lanes) -}}
{{- fail (printf "replicas is %d and LANES is %d: processes beyond the lanes would only stand by" (int .Values.replicas) $lanes) -}}
{{- end -}}
{{- range list $keda $hpa -}}
{{- if and .enabled (gt (int .minReplicas) (int (include "processor.maxReplicas" (dict "context" $ "asked" .maxReplicas)))) -}}
{{- fail "autoscaling: minReplicas is more than maxReplicas or than LANES" -}}
{{- end -}}
{{- end -}}
{{- if and (or .Values.strimzi.topics.enabled .Values.strimzi.user.enabled (compact (values .Values.strimzi.roles))) (not .Values.strimzi.cluster) -}}
{{- fail "strimzi.cluster is required with strimzi.topics, strimzi.user or strimzi.roles" -}}
{{- end -}}
{{- range $role, $name := .Values.strimzi.roles -}}
{{- if and (eq $name $.Values.strimzi.user.name) (not $.Values.strimzi.user.enabled) -}}
{{- fail (printf "strimzi.roles.%s is the name of strimzi.user, which is not enabled: enable it, or its KafkaUser would lack the processor's rights" $role) -}}
{{- end -}}
{{- end -}}
{{- range list .Values.kafkaCertificates .Values.prepare.kafkaCertificates -}}
{{- if ne (empty .certificate) (empty .privateKey) -}}
{{- fail "kafkaCertificates (or prepare.kafkaCertificates) has a certificate without its privateKey, or the key alone: give both or neither" -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if regexMatch "(?i)^(https?|no|all)_proxy$|^NODE_USE_ENV_PROXY$" .name -}}
{{- fail (printf "extraEnv.%s would have no effect: calls of the payment service, the registry and Kafka are made directly, never through a proxy. Leave it out, and let the pods reach them (networkPolicy, an egress gateway, or a relay whose address is the setting)" .name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.prometheusRule.enabled (not .Values.prometheusRule.runbookBaseUrl) -}}
{{- fail "prometheusRule.runbookBaseUrl is required with prometheusRule.enabled: the http or https URL at which your people read docs/runbooks" -}}
{{- end -}}
{{- include "processor.validatePrepare" . -}}
{{- include "processor.validateVolumes" . -}}
{{- end -}}

{{/*
Kubernetes refuses to change the volumes of a StatefulSet, but only when the Job has run and half of the objects are
changed. Without a cluster (`helm template`) nothing is compared.
*/}}
{{- define "processor.validateVolumes" -}}
{{- $name := include "processor.fullname" . -}}
{{- $live := lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
{{- if $live -}}
{{- $is := list "none" "" -}}
{{- $text := "none" -}}
{{- range $live.spec.volumeClaimTemplates -}}
{{- $size := .spec.resources.requests.storage -}}
{{- $class := .spec.storageClassName | default "" -}}
{{- $is = list (include "processor.mebibytes" $size) $class -}}
{{- $text = printf "%s of storage class %q" $size $class -}}
{{- end -}}
{{- $wanted := list "none" "" -}}
{{- $wantedText := "none" -}}
{{- if .Values.store.persistent -}}
{{- $wanted = list (include "processor.mebibytes" .Values.store.size) .Values.store.storageClass -}}
{{- $wantedText = printf "%s of storage class %q" .Values.store.size .Values.store.storageClass -}}
{{- end -}}
{{- if ne (toJson $is) (toJson $wanted) -}}
{{- fail (printf "store: an upgrade cannot change the volumes; they are %s, and would be %s. Leave store as it was, or delete the StatefulSet first, without its pods: kubectl --namespace %s delete statefulset %s --cascade=orphan (the chart's README, \"Changing volumes\")" $text $wantedText .Release.Namespace $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Of a size in Mi, Gi or Ti: Kubernetes writes 1024Mi as 1Gi. */}}
{{- define "processor.mebibytes" -}}
{{- $unit := regexFind "[MGT]i$" . -}}
{{- mul (regexFind "^[0-9]+" .) (get (dict "Mi" 1 "Gi" 1024 "Ti" 1048576 "" 0) $unit) -}}
{{- end -}}

{{/* A hook before the installation cannot wait for what the installation makes. */}}
{{- define "processor.validatePrepare" -}}
{{- if and .Values.prepare.enabled .Values.strimzi.user.enabled -}}
{{- $made := .Values.strimzi.user.name -}}
{{- range $files := list (include "processor.topicsFiles" . | fromJson) (include "processor.schemasFiles" . | fromJson) -}}
{{- range $references := list $files.secretSettings $files.kafkaCertificates -}}
{{- range $reference := $references -}}
{{- if eq (get ($reference | default dict) "secret") $made -}}
{{- fail (printf "prepare runs before the installation, and Strimzi makes the Secret %s for strimzi.user only after it: give prepare credentials of an administrator, by prepare.kafkaCertificates, or by prepare.settings.KAFKA_SASL_USERNAME and prepare.secretSettings.KAFKA_SASL_PASSWORD; or set strimzi.topics.enabled, with which it needs no Kafka" $made) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
