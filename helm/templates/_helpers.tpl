{{/* Names */}}
{{- define "processor.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "processor.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "processor.labels" -}}
{{ include "processor.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "processor.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "processor.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- include "processor.fullname" . -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* A value of the settings as text. Numbers of YAML are floats here: 3600000 would become 3.6e+06. */}}
{{- define "processor.text" -}}
{{- if kindIs "float64" . -}}{{ int64 . }}{{- else -}}{{ toString . }}{{- end -}}
{{- end -}}

{{/* A setting, or the default handed in: (list . "NAME" "default"). */}}
{{- define "processor.setting" -}}
{{- $context := index . 0 -}}
{{- $value := get $context.Values.settings (index . 1) -}}
{{- $text := include "processor.text" $value -}}
{{- if or (kindIs "invalid" $value) (eq $text "") -}}{{ index . 2 }}{{- else -}}{{ $text }}{{- end -}}
{{- end -}}

{{- define "processor.lanes" -}}{{ include "processor.setting" (list . "LANES" "6") }}{{- end -}}
{{- define "processor.prefix" -}}{{ include "processor.setting" (list . "TOPIC_PREFIX" "payments") }}{{- end -}}
{{- define "processor.group" -}}{{ include "processor.setting" (list . "KAFKA_GROUP_ID" "payment-commands") }}{{- end -}}
{{- define "processor.port" -}}{{ include "processor.setting" (list . "HTTP_PORT" "8080") }}{{- end -}}

{{/* Milliseconds of a duration such as 500ms, 30s, 15m, 24h or 7d. */}}
{{- define "processor.durationMs" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- mul (regexFind "^[0-9]+" .) (get $units (regexFind "[a-z]+$" .)) -}}
{{- end -}}
{{- define "processor.ledgerRetentionMs" -}}
{{- include "processor.durationMs" (include "processor.setting" (list . "LEDGER_RETENTION" "7d")) -}}
{{- end -}}

{{/* Longer than the processor gives itself: the deadline of a call and 35 s (src/main.ts). */}}
{{- define "processor.terminationGraceSeconds" -}}
{{- $callMs := int64 (include "processor.setting" (list . "API_TIMEOUT_MS" "10000")) -}}
{{- add (div (add $callMs 999) 1000) 35 (int64 .Values.terminationMarginSeconds) -}}
{{- end -}}

{{/*
What a container reads is a dict: "context", "settings" and "secretSettings" (maps by name), "kafkaCertificates" (as the
value of that name) and "volume", the prefix of the volumes that hold its files.
*/}}
{{- define "processor.files" -}}
{{- dict "settings" .Values.settings "secretSettings" .Values.secretSettings "kafkaCertificates" .Values.kafkaCertificates "volume" "" | toJson -}}
{{- end -}}

{{/* Environment by what a container reads. */}}
{{- define "processor.environment" -}}
{{- range $name := keys .settings | sortAlpha }}
{{- $text := include "processor.text" (get $.settings $name) }}
{{- if or (ne $text "") (eq $name "API_IDEMPOTENT_OPERATIONS") }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- range $name := keys .secretSettings | sortAlpha }}
- name: {{ $name }}_FILE
  value: /run/secrets/payment-processor/{{ $name }}
{{- end }}
{{- $certificates := .kafkaCertificates }}
{{- if $certificates.ca }}
- name: KAFKA_SSL_CA_FILE
  value: /run/secrets/kafka-certificates/ca.pem
{{- end }}
{{- if $certificates.certificate }}
- name: KAFKA_SSL_CERT_FILE
  value: /run/secrets/kafka-certificates/certificate.pem
{{- end }}
{{- if $certificates.privateKey }}
- name: KAFKA_SSL_KEY_FILE
  value: /run/secrets/kafka-certificates/key.pem
{{- end }}
{{- if .context.Values.extraCertificates }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/payment-processor/certificates/ca.pem
{{- end }}
{{- end -}}

{{/* Mounts of what is read: secrets and certificates, by reference. */}}
{{- define "processor.fileMounts" -}}
{{- if .secretSettings }}
- name: {{ .volume }}secret-settings
  mountPath: /run/secrets/payment-processor
  readOnly: true
{{- end }}
{{- if include "processor.hasKafkaCertificates" . }}
- name: {{ .volume }}kafka-certificates
  mountPath: /run/secrets/kafka-certificates
  readOnly: true
{{- end }}
{{- if .context.Values.extraCertificates }}
- name: extra-certificates
  mountPath: /etc/payment-processor/certificates
  readOnly: true
{{- end }}
- name: scratch
  mountPath: /tmp
{{- end -}}

{{- define "processor.hasKafkaCertificates" -}}
{{- with .kafkaCertificates }}{{ if or .ca .certificate .privateKey }}yes{{ end }}{{ end -}}
{{- end -}}

{{/* Volumes of secrets, of one container. */}}
{{- define "processor.secretVolumes" -}}
{{- if .secretSettings }}
- name: {{ .volume }}secret-settings
  projected:
    defaultMode: 0440
    sources:
      {{- range $name := keys .secretSettings | sortAlpha }}
      {{- $reference := get $.secretSettings $name }}
      - secret:
          name: {{ $reference.secret }}
          items:
            - key: {{ $reference.key }}
              path: {{ $name }}
      {{- end }}
{{- end }}
{{- if include "processor.hasKafkaCertificates" . }}
- name: {{ .volume }}kafka-certificates
  projected:
    defaultMode: 0440
    sources:
      {{- $certificates := .kafkaCertificates }}
      {{- range $file, $reference := dict "ca.pem" $certificates.ca "certificate.pem" $certificates.certificate "key.pem" $certificates.privateKey }}
      {{- if $reference }}
      - secret:
          name: {{ $reference.secret }}
          items:
            - key: {{ $reference.key }}
              path: {{ $file }}
      {{- end }}
      {{- end }}
{{- end }}
{{- end -}}

{{/* Volumes that all containers of a pod share. */}}
{{- define "processor.sharedVolumes" -}}
{{- with .Values.extraCertificates }}
- name: extra-certificates
  configMap:
    name: {{ .configMap }}
    items:
      - key: {{ .key }}
        path: ca.pem
{{- end }}
# Nothing is written there in normal operation; diagnostics of Node may be.
- name: scratch
  emptyDir:
    sizeLimit: 64Mi
{{- end -}}

{{- define "processor.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: {{ .Values.podSecurity.runAsUser }}
runAsGroup: {{ .Values.podSecurity.runAsGroup }}
fsGroup: {{ .Values.podSecurity.runAsGroup }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "processor.containerSecurityContext" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/*
Processes that the StatefulSet says; nothing where the autoscaler alone says. Where a number stood before, taking it away
would mean 1 to Kubernetes, and delete the volumes of the others: then the number is what it is right now. The annotation
remembers that one stands.
*/}}
{{- define "processor.replicas" -}}
{{- if not (or .Values.autoscaling.keda.enabled .Values.autoscaling.hpa.enabled) -}}
{{- int .Values.replicas -}}
{{- else -}}
{{- $live := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "processor.fullname" .) -}}
{{- if and $live (hasKey (dig "metadata" "annotations" dict $live) "payment-processor/replicas") -}}
{{- int $live.spec.replicas -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Most processes of an autoscaler: never more than lanes. */}}
{{- define "processor.maxReplicas" -}}
{{- $lanes := int (include "processor.lanes" .context) -}}
{{- $asked := int .asked -}}
{{- if eq $asked 0 -}}{{ $lanes }}{{- else -}}{{ min $asked $lanes }}{{- end -}}
{{- end -}}

{{/* The memory limit, bytes. The schema lets whole Mi and Gi pass alone. */}}
{{- define "processor.memoryLimitBytes" -}}
{{- $limit := .Values.resources.limits.memory -}}
{{- mul (regexFind "^[0-9]+" $limit) (ternary 1073741824 1048576 (hasSuffix "Gi" $limit)) -}}
{{- end -}}

{{/* Of the limit Node would take half for its heap; the rest is for buffers and the mapped store, which can give way. */}}
{{- define "processor.heapMebibytes" -}}
{{- div (mul (include "processor.memoryLimitBytes" .) 70) 104857600 -}}
{{- end -}}

{{/* (dict "context" . "topic" name "configuration" what differs from topic to topic). */}}
{{- define "processor.kafkaTopic" }}
{{- $copies := int .context.Values.strimzi.topics.replicationFactor }}
{{- $name := .topic | lower | replace "_" "-" }}
{{- $lanes := include "processor.lanes" .context }}
{{- /* Strimzi would add the partitions at once, and Kafka cannot remove them. */}}
{{- $live := lookup .context.Values.strimzi.apiVersion "KafkaTopic" (.context.Values.strimzi.namespace | default .context.Release.Namespace) $name }}
{{- if and $live (ne (toString (int $live.spec.partitions)) $lanes) }}
{{- fail (printf "LANES is %s, but the topic %s has %d partitions: LANES is fixed for the life of a TOPIC_PREFIX, since keys would move to lanes that do not remember them. Leave it as it was, or take another TOPIC_PREFIX (docs/runbooks/more-lanes.md)" $lanes .topic (int $live.spec.partitions)) }}
{{- end }}
---
apiVersion: {{ .context.Values.strimzi.apiVersion }}
kind: KafkaTopic
metadata:
  name: {{ $name }}
  {{- with .context.Values.strimzi.namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "processor.labels" .context | nindent 4 }}
    strimzi.io/cluster: {{ .context.Values.strimzi.cluster }}
  annotations:
    # Removing the release must not remove the memory of keys.
    helm.sh/resource-policy: keep
spec:
  topicName: {{ .topic }}
  partitions: {{ $lanes }}
  replicas: {{ $copies }}
  config:
    {{- range $name, $value := .configuration }}
    {{ $name }}: {{ $value | quote }}
    {{- end }}
    retention.bytes: '-1'
    min.insync.replicas: {{ max 1 (sub $copies 1) | quote }}
    unclean.leader.election.enable: 'false'
{{- end }}

{{/* A KafkaUser with the rights of its roles: (dict "context" $ "name" ... "roles" (list ...)). */}}
{{- define "processor.kafkaUser" }}
{{- $context := .context }}
{{- $prefix := include "processor.prefix" $context }}
{{- $group := include "processor.group" $context }}
{{- $sandbox := eq (include "processor.setting" (list $context "SANDBOX_COMMANDS" "false")) "true" }}
{{- $rights := $context.Files.Get "files/rights.json" | fromJson }}
---
apiVersion: {{ $context.Values.strimzi.apiVersion }}
kind: KafkaUser
metadata:
  name: {{ .name }}
  {{- with $context.Values.strimzi.namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "processor.labels" $context | nindent 4 }}
    strimzi.io/cluster: {{ $context.Values.strimzi.cluster }}
spec:
  authentication:
    type: {{ $context.Values.strimzi.user.authentication }}
  authorization:
    type: simple
    acls:
      {{- range .roles }}
      {{- range index $rights . }}
      {{- if or $sandbox (not .onlyWithSandboxCommands) }}
      - resource:
          type: {{ .resource.type }}
          name: {{ .resource.name | replace "@prefix@" $prefix | replace "@group@" $group }}
          patternType: {{ .resource.patternType }}
        operations: [{{ join ", " .operations }}]
      {{- end }}
      {{- end }}
      {{- end }}
{{ end }}
