#!/usr/bin/env bash
# deploy.sh MUSTER OUT   writes OUT/kustomize and OUT/helm/muster: what `muster manifests` prints, between the files of
# deploy/. Nothing of it is kept in the repository, so nothing can be stale.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0"; exit 2; }
muster=$1 out=$2 here=$(cd "$(dirname "$0")/../deploy" && pwd)
version=$("$muster" version | sed -n 's/^muster \([0-9.]*\).*/\1/p')
rm -rf "$out"
mkdir -p "$out/kustomize" "$out/helm/muster/templates"

# Definitions come first: to the first file, the rest to the second.
split() {
    cat >"$2"
    local line
    line=$(grep -n -m 1 '^kind: Namespace$' "$2")
    line=$((${line%%:*} - 3))
    head -n $line "$2" >"$1"
    sed -i "1,${line}d" "$2"
}

"$muster" manifests | split "$out/kustomize/definitions.yaml" "$out/kustomize/muster.yaml"
cp "$here/kustomization.yaml" "$out/kustomize/"

# Helm makes the namespace; what differs from release to release is put in by it.
chart=$out/helm/muster
"$muster" manifests --service-monitor --namespace release-namespace --image release.image |
    split "$chart/templates/definitions.yaml" "$out/helm/rest.yaml"
awk '
    function flush() {
        if (text ~ /\nkind: ServiceMonitor\n/) text = "{{- if .Values.serviceMonitor }}\n" text "{{- end }}\n"
        if (text !~ /\nkind: Namespace\nmetadata:\n  name: release-namespace\n/) printf "%s", text
        text = ""
    }
    /^---$/ { flush() }
    { text = text $0 "\n" }
    END { flush() }' "$out/helm/rest.yaml" |
    sed -e 's/release-namespace/{{ .Release.Namespace }}/' -e 's/release\.image/{{ .Values.image }}/' \
        -e 's/replicas: 2$/replicas: {{ .Values.replicas }}/' >"$chart/templates/muster.yaml"
rm "$out/helm/rest.yaml"
for file in Chart.yaml values.yaml; do sed "s/@VERSION@/$version/" "$here/helm/$file" >"$chart/$file"; done
