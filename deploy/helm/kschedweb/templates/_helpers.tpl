{{- define "kschedweb.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "kschedweb.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "kschedweb.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "kschedweb.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "kschedweb.inside" -}}
{{- if ne .Values.rbac.mode "none" }}true{{ else }}false{{ end }}
{{- end }}

{{- define "kschedweb.selector" -}}
app.kubernetes.io/name: kschedweb
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kschedweb.labels" -}}
{{ include "kschedweb.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The list that is given: (root, component). */}}
{{- define "kschedweb.metadata" -}}
{{- $root := index . 0 }}{{- $component := index . 1 -}}
name: {{ include "kschedweb.name" $root }}-{{ $component }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "kschedweb.labels" $root | nindent 2 }}
  app.kubernetes.io/component: {{ $component }}
{{- end }}

{{- define "kschedweb.match" -}}
matchLabels:
  {{- include "kschedweb.selector" (index . 0) | nindent 2 }}
  app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "kschedweb.environment" -}}
- {name: KSCHEDWEB_SECRET_KEY_FILE, value: /run/secrets/kschedweb/secret_key}
- {name: KSCHEDWEB_ENCRYPTION_KEYS_FILE, value: /run/secrets/kschedweb/encryption_keys}
- {name: DATABASE_URL_FILE, value: /run/secrets/kschedweb/database_url}
- {name: REDIS_URL_FILE, value: /run/secrets/kschedweb/redis_url}
- {name: KSCHEDWEB_ALLOWED_HOSTS, value: {{ join "," .Values.hosts | quote }}}
- {name: KSCHEDWEB_HTTPS, value: {{ .Values.https | quote }}}
- {name: KSCHEDWEB_BEHIND_PROXY, value: {{ .Values.behindProxy | quote }}}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* What all pods have in common, and then (root, component, resources, command, extra of the container as text). */}}
{{- define "kschedweb.pod" -}}
{{- $root := index . 0 }}{{- $component := index . 1 -}}
metadata:
  labels:
    {{- include "kschedweb.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
  {{- with $root.Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- /* A hook runs before the release has an account of its own. */}}
  {{- if not (has $component (list "migrate" "doctor")) }}
  serviceAccountName: {{ include "kschedweb.account" $root }}
  {{- end }}
  {{- $inside := and (eq (include "kschedweb.inside" $root) "true") (has $component (list "web" "worker" "scheduler")) }}
  automountServiceAccountToken: {{ $inside }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: 30
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with $root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if has $component (list "web" "worker" "scheduler") }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {{- include "kschedweb.match" (list $root $component) | nindent 8 }}
  {{- else }}
  {{- if ne $component "beat" }}
  restartPolicy: {{ if eq $component "migrate" }}OnFailure{{ else }}Never{{ end }}
  {{- end }}
  {{- end }}
  containers:
    - name: {{ $component }}
      image: {{ include "kschedweb.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: {{ index . 3 | toJson }}
      env:
        {{- include "kschedweb.environment" $root | nindent 8 }}
        {{- if eq $component "scheduler" }}
        - {name: KSCHEDWEB_METRICS_HOST, value: 0.0.0.0}
        - {name: KSCHEDWEB_METRICS_PORT, value: "9090"}
        {{- end }}
      resources: {{- toYaml (index . 2) | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: secrets, mountPath: /run/secrets/kschedweb, readOnly: true}
      {{- with index . 4 }}
      {{- trim . | nindent 6 }}
      {{- end }}
  volumes:
    - name: tmp
      emptyDir: {sizeLimit: 1Gi}
    - name: secrets
      secret: {secretName: {{ $root.Values.existingSecret }}, defaultMode: 0440}
{{- end }}

{{/* Celery's ping of the worker that this container is. Without Redis it cannot answer, and has to live on. */}}
{{- define "kschedweb.ping" -}}
livenessProbe:
  exec: {command: [sh, -c, "celery -A kschedweb inspect ping --timeout 10 --destination {{ . }}@$HOSTNAME || ! deploy/ask \"$(cat $REDIS_URL_FILE)\""]}
  initialDelaySeconds: 30
  periodSeconds: 60
  timeoutSeconds: 30
  failureThreshold: 3
{{- end }}
