{{/*
What a container of the Job reads, as JSON: the settings named alone, those of `prepare` over the processor's.
(list . names): the names as the command line has them; a test compares.

The processor's own way of showing who it is, password or certificate, is left out where `prepare` has one of its own: two at
once would be the rights of neither, and the Secret of the processor's may not exist yet.
*/}}
{{- define "processor.prepareFiles" -}}
{{- $values := (index . 0).Values -}}
{{- $prepare := $values.prepare -}}
{{- $hasPassword := hasKey $prepare.secretSettings "KAFKA_SASL_PASSWORD" -}}
{{- $hasCertificate := not (empty $prepare.kafkaCertificates.certificate) -}}
{{- $files := dict "settings" dict "secretSettings" dict "kafkaCertificates" dict -}}
{{- range $name := index . 1 -}}
{{- $isReplaced := and $hasCertificate (not $hasPassword) (hasPrefix "KAFKA_SASL_" $name) -}}
{{- range $kind := list "settings" "secretSettings" -}}
{{- if hasKey (get $prepare $kind) $name -}}
{{- $_ := set (get $files $kind) $name (get (get $prepare $kind) $name) -}}
{{- else if and (hasKey (get $values $kind) $name) (not $isReplaced) -}}
{{- $_ := set (get $files $kind) $name (get (get $values $kind) $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if has "KAFKA_BROKERS" (index . 1) -}}
{{- $_ := set $files.kafkaCertificates "ca" (default $values.kafkaCertificates.ca $prepare.kafkaCertificates.ca) -}}
{{- $pair := ternary $prepare.kafkaCertificates (ternary dict $values.kafkaCertificates $hasPassword) $hasCertificate -}}
{{- range list "certificate" "privateKey" -}}
{{- $_ := set $files.kafkaCertificates . (get $pair . | default dict) -}}
{{- end -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/* `topics create`; nothing where Strimzi makes the topics. */}}
{{- define "processor.topicsFiles" -}}
{{- $names := list -}}
{{- if not .Values.strimzi.topics.enabled -}}
{{- $names = list "KAFKA_BROKERS" "KAFKA_SSL" "KAFKA_SASL_MECHANISM" "KAFKA_SASL_USERNAME" "KAFKA_SASL_PASSWORD" "TOPIC_PREFIX" "LANES" "LEDGER_RETENTION" "COMMAND_MAX_AGE" "SANDBOX_COMMANDS" -}}
{{- end -}}
{{- include "processor.prepareFiles" (list . $names) -}}
{{- end -}}

{{/* `schemas register`. */}}
{{- define "processor.schemasFiles" -}}
{{- $names := list "SCHEMA_REGISTRY_URL" "SCHEMA_REGISTRY_USERNAME" "SCHEMA_REGISTRY_PASSWORD" "TOPIC_PREFIX" -}}
{{- include "processor.prepareFiles" (list . $names) -}}
{{- end -}}

{{/* What both containers of the job have. */}}
{{- define "processor.prepareContainer" -}}
image: {{ include "processor.image" .context }}
imagePullPolicy: {{ .context.Values.image.pullPolicy }}
command: [node]
securityContext:
  {{- include "processor.containerSecurityContext" .context | nindent 2 }}
env:
  {{- include "processor.environment" . | trim | nindent 2 }}
resources:
  {{- toYaml .context.Values.prepare.resources | nindent 2 }}
volumeMounts:
  {{- include "processor.fileMounts" . | trim | nindent 2 }}
{{- end -}}
