{{/*
An expression with another threshold: (list alert expression threshold). Where it compares with one number alone, that is
the threshold; elsewhere which number is meant cannot be told.
*/}}
{{- define "processor.withThreshold" -}}
{{- $alert := index . 0 -}}
{{- $expression := index . 1 -}}
{{- $comparison := "([<>]=?|[=!]=) *[0-9]+(\\.[0-9]+)?" -}}
{{- $found := regexFindAll $comparison $expression -1 -}}
{{- if or (ne (len $found) 1) (regexMatch (printf "%s *[*/]" $comparison) $expression) -}}
{{- fail (printf "prometheusRule.alerts.%s.threshold: its expression does not compare with one number alone; give the whole of it by prometheusRule.alerts.%s.expr" $alert $alert) -}}
{{- end -}}
{{- regexReplaceAll $comparison $expression (printf "${1} %s" (index . 2 | toString)) -}}
{{- end -}}
