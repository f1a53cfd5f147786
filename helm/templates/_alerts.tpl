{{/*
An expression with another threshold: (list alert expression threshold). If the expression compares with a single number,
that number is the threshold. Otherwise rendering fails, because it is unclear which number is meant.
*/}}
{{- define "processor.withThreshold" -}}
{{- $alert := index . 0 -}}
{{- $expression := index . 1 -}}
{{- $comparison := "([<>]=?|[=!]=) *[0-9]+(\\.[0-9]+)?" -}}
{{- $found := regexFindAll $comparison $expression -1 | uniq -}}
{{- if or (ne (len $found) 1) (regexMatch (printf "%s *[*/]" $comparison) $expression) -}}
{{- fail (printf "prometheusRule.alerts.%s.threshold: its expression does not compare with one number alone; give the whole of it by prometheusRule.alerts.%s.expr" $alert $alert) -}}
{{- end -}}
{{- $threshold := index . 2 -}}
{{- /* Whole numbers of YAML are floats here: 1000000 would become 1e+06. */ -}}
{{- $isWhole := and (kindIs "float64" $threshold) (eq (floor $threshold) $threshold) -}}
{{- $text := ternary (include "processor.text" $threshold) (toString $threshold) $isWhole -}}
{{- regexReplaceAll $comparison $expression (printf "${1} %s" $text) -}}
{{- end -}}
