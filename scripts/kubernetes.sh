#!/usr/bin/env bash
# Checks the Kubernetes objects of every shipped scenario against the schemas of Kubernetes, in a
# new virtual environment outside of the source. Kinds that are not Kubernetes' own (KEDA, the
# Prometheus operator) have no schema there and are counted.
#   scripts/kubernetes.sh [HEADROOM]    (build/release/bin/headroom)
# Exits with 77 when PyPI cannot be reached.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
headroom=$(realpath "${1:-$root/build/release/bin/headroom}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
if ! venv/bin/pip install --quiet --disable-pip-version-check \
  'kubernetes-validate==1.32.0' 2>log; then
  cat log >&2
  echo 'kubernetes.sh: skipped: PyPI cannot be reached' >&2
  exit 77
fi
for scenario in "$root"/scenarios/*.json; do
  name=$(basename "$scenario" .json)
  [[ $name == *.schema ]] && continue
  # Those that do not start, or that no server command starts, have nothing to deploy.
  "$headroom" emit "$name" --form kubernetes -o "$name.yaml" --set workload.num_requests=50 \
    2>"$name.log" || "$headroom" emit "$name" --form kubernetes -o "$name.yaml" 2>"$name.log" ||
    echo "left out: $(tail -n 1 "$name.log")"
done
venv/bin/python - ./*.yaml <<'PY'
import sys

import kubernetes_validate
import yaml

OWN = {"apps/v1", "v1"}
checked = others = 0
for path in sys.argv[1:]:
    for one in yaml.safe_load_all(open(path, encoding="utf-8")):
        if one["apiVersion"] not in OWN:
            others += 1
            continue
        kubernetes_validate.validate(one, "1.32", strict=True)
        checked += 1
# A wrong object must fail.
one["apiVersion"], one["kind"] = "v1", "Service"
one["spec"] = {"ports": "none"}
try:
    kubernetes_validate.validate(one, "1.32", strict=True)
except kubernetes_validate.ValidationError:
    pass
else:
    sys.exit("kubernetes.sh: a wrong object passes")
assert checked > 40, checked
print(f"kubernetes.sh: {checked} objects of {len(sys.argv) - 1} scenarios follow Kubernetes 1.32; "
      f"{others} of other kinds were not checked")
PY
