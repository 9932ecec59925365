{{/* Nothing here asks the cluster, the time, chance or whether it is an upgrade: every deployer renders the same. */}}
{{- define "post.labels" -}}
app.kubernetes.io/name: gpu-operator-post
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/component: dra-reroll
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "post.enabled" -}}
{{- if and .Values.draReroll.enabled .Values.postInstallHooks.dra.enabled }}true{{ end -}}
{{- end }}

{{- define "post.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* What the Job does, for the digest: whatever of it changes is a reason to run it again. */}}
{{- define "post.arguments" -}}
- dra
- reroll
{{- if eq .Values.mode "wait" }}
- --wait
{{- end }}
{{- if .Values.require }}
- --require
{{- end }}
- --namespace={{ .Values.operatorNamespace }}
- --lease-namespace={{ .Values.controllerNamespace }}
{{- range .Values.draNamespaces }}
- --dra-namespace={{ . }}
{{- end }}
- --stability={{ .Values.stability }}
# Before the Job's own deadline, so that it says which nodes are left.
- --deadline={{ sub (int .Values.deadlineSeconds) 60 }}s
{{- with .Values.target.driver }}
- --target-driver={{ . }}
{{- end }}
{{- with .Values.target.chart }}
- --target-chart={{ . }}
{{- end }}
{{- end }}

{{- define "post.digest" -}}
{{- list (include "post.image" .) (include "post.arguments" .) .Values.target.extra | toJson | sha256sum -}}
{{- end }}

{{- define "post.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "post.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: "10"
    # One that failed stays, and with it what it said.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- with .root }}
spec:
  backoffLimit: {{ int .Values.backoffLimit }}
  activeDeadlineSeconds: {{ int .Values.deadlineSeconds }}
  completions: 1
  parallelism: 1
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions: [{type: DisruptionTarget, status: "True"}]
      # Called wrongly, a plugin that no restart helps, the deadline: another try would end the same.
      - action: FailJob
        onExitCodes: {containerName: reroll, operator: In, values: [2, 8, 13]}
  template:
    metadata:
      labels:
        {{- include "post.labels" . | nindent 8 }}
        # The operator's drain leaves it where it is.
        nvidia.com/gpu-driver-upgrade-drain.skip: "true"
    spec:
      restartPolicy: Never
      serviceAccountName: dra-reroll
      automountServiceAccountToken: true
      # Ended at whatever moment it leaves nothing half-done, so nobody who drains its node has to wait for it.
      terminationGracePeriodSeconds: 1
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      # Which user it is, OpenShift says; the image names one that is not root.
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              preference:
                matchExpressions: [{key: nvidia.com/gpu.present, operator: NotIn, values: ["true"]}]
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: reroll
          image: {{ include "post.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            {{- include "post.arguments" . | nindent 12 }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
      volumes:
        - {name: tmp, emptyDir: {}}
{{- end }}
{{- end }}
