{{/* Port of a URL: the one it names, or that of its scheme. */}}
{{- define "processor.urlPort" -}}
{{- $url := urlParse . -}}
{{- $named := regexFind ":[0-9]+$" $url.host -}}
{{- if $named -}}{{ trimPrefix ":" $named }}{{- else if eq $url.scheme "https" -}}443{{- else -}}80{{- end -}}
{{- end -}}

{{/* Egress rules: (dict "context" . "brokers" text or "" "registryUrl" text "apiUrl" text or ""). */}}
{{- define "processor.egress" -}}
{{- $policy := .context.Values.networkPolicy -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- if .brokers }}
{{- $ports := list }}
{{- range splitList "," .brokers }}
{{- $ports = append $ports (regexFind "[0-9]+$" (trim .)) }}
{{- end }}
- ports:
    {{- range uniq $ports }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with $policy.kafkaTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
- ports:
    - port: {{ include "processor.urlPort" .registryUrl }}
      protocol: TCP
  {{- with $policy.registryTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if .apiUrl }}
- ports:
    - port: {{ include "processor.urlPort" .apiUrl }}
      protocol: TCP
  {{- with $policy.apiTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with $policy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}
