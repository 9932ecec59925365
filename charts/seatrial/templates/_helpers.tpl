{{/* Names are fixed where there can be one of a thing in a cluster: roles, the lease, the definition. */}}
{{- define "seatrial.labels" -}}
app.kubernetes.io/name: seatrial
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "seatrial.selector" -}}
app.kubernetes.io/name: seatrial
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}

{{- define "seatrial.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "seatrial.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* Where gates run. Values kept from a chart that knew no such namespace have them where they were. */}}
{{- define "seatrial.gatesNamespace" -}}
{{ (.Values.gates | default dict).namespace | default .Release.Namespace }}
{{- end }}

{{/* Which Prometheus is asked, and as whom. */}}
{{- define "seatrial.prometheusArguments" -}}
{{- with .Values.prometheus }}
{{- if .url }}
- --prometheus={{ .url }}
{{- if .secret }}
- --prometheus-secret=/var/run/seatrial/prometheus
{{- end }}
{{- if .authority.configMap }}
- --prometheus-authority=/var/run/seatrial/prometheus-authority/{{ .authority.key }}
{{- end }}
{{- if .scrapeSeconds }}
- --prometheus-scrape-seconds={{ int .scrapeSeconds }}
{{- end }}
{{- if .matchers }}
- {{ printf "--prometheus-matchers=%s" .matchers | quote }}
{{- end }}
{{- if .nodeLabel }}
- --prometheus-node-label={{ .nodeLabel }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "seatrial.prometheusMounts" -}}
{{- with .Values.prometheus }}
{{- if and .url .secret }}
- {name: prometheus, mountPath: /var/run/seatrial/prometheus, readOnly: true}
{{- end }}
{{- if and .url .authority.configMap }}
- {name: prometheus-authority, mountPath: /var/run/seatrial/prometheus-authority, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "seatrial.prometheusVolumes" -}}
{{- with .Values.prometheus }}
{{- if and .url .secret }}
- {name: prometheus, secret: {secretName: {{ .secret }}, defaultMode: 0440}}
{{- end }}
{{- if and .url .authority.configMap }}
- {name: prometheus-authority, configMap: {name: {{ .authority.configMap }}}}
{{- end }}
{{- end }}
{{- end }}

{{/* Which repositories and forges are spoken to, and as whom: for whoever plays a controller. */}}
{{- define "seatrial.gitArguments" -}}
{{- range .Values.git.allow }}
- --git-allow={{ . }}
{{- end }}
{{- range $index, $bound := .Values.git.credentials }}
- --git-credentials={{ $bound.prefix }}=/var/run/seatrial/git/{{ $index }}
{{- end }}
{{- range $index, $bound := .Values.git.forges }}
- --forge={{ $bound.kind }}:{{ $bound.prefix }}=/var/run/seatrial/forge/{{ $index }}
{{- end }}
{{- range $index, $bound := .Values.git.authorities }}
- --git-authority={{ $bound.server }}=/var/run/seatrial/authority/{{ $index }}/ca.crt
{{- end }}
{{- end }}

{{- define "seatrial.gitMounts" -}}
{{- range $index, $bound := .Values.git.credentials }}
- {name: git-{{ $index }}, mountPath: /var/run/seatrial/git/{{ $index }}, readOnly: true}
{{- end }}
{{- range $index, $bound := .Values.git.forges }}
- {name: forge-{{ $index }}, mountPath: /var/run/seatrial/forge/{{ $index }}, readOnly: true}
{{- end }}
{{- range $index, $bound := .Values.git.authorities }}
- {name: authority-{{ $index }}, mountPath: /var/run/seatrial/authority/{{ $index }}, readOnly: true}
{{- end }}
{{- end }}

{{- define "seatrial.gitVolumes" -}}
{{- range $index, $bound := .Values.git.credentials }}
- {name: git-{{ $index }}, secret: {secretName: {{ $bound.secret }}, defaultMode: 0440}}
{{- end }}
{{- range $index, $bound := .Values.git.forges }}
- {name: forge-{{ $index }}, secret: {secretName: {{ $bound.secret }}, defaultMode: 0440}}
{{- end }}
{{- range $index, $bound := .Values.git.authorities }}
- name: authority-{{ $index }}
  {{- if $bound.configMap }}
  configMap: {name: {{ $bound.configMap }}, items: [{key: {{ $bound.key | default "ca.crt" }}, path: ca.crt}]}
  {{- else }}
  secret: {secretName: {{ $bound.secret }}, items: [{key: {{ $bound.key | default "ca.crt" }}, path: ca.crt}]}
  {{- end }}
{{- end }}
{{- end }}

{{/* The objects of a file of rights, in the namespaces of this release. Dict of text, and names of namespaces by those in the file;
     of a text with several parts, the one that is named. */}}
{{- define "seatrial.rights" -}}
{{- $names := .names }}{{ $labels := .labels }}
{{- range splitList "\n---\n" .text }}
{{- $object := fromYaml . }}
{{- if and (ne $object.kind "Namespace") (or (not $.part) (eq $object.metadata.name (printf "seatrial-controller-%s" $.part))) }}
{{- $metadata := $object.metadata }}
{{- if hasKey $metadata "namespace" }}{{ $_ := set $metadata "namespace" (get $names $metadata.namespace | default $metadata.namespace) }}{{ end }}
{{- $_ := set $metadata "labels" (fromYaml $labels) }}
{{- range $object.subjects }}{{ $_ := set . "namespace" (get $names .namespace) }}{{ end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}
