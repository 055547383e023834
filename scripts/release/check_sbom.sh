#!/usr/bin/env bash
# Validates lists of parts with the SPDX project's own tool, where PyPI can be reached.
#   scripts/release/check_sbom.sh FILE...
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tools=$RELEASE_WORK/spdx-tools
if [[ ! -d $tools ]]; then
  if ! { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet \
    --disable-pip-version-check spdx-tools; } 2>"$RELEASE_WORK/log"; then
    tail -n 3 "$RELEASE_WORK/log"
    echo 'release.sh: the list of parts is not validated: spdx-tools cannot be installed'
    rm -rf "$tools"
    exit 0
  fi
fi
for file in "$@"; do
  "$tools/bin/pyspdxtools" -i "$file" >"$RELEASE_WORK/log" 2>&1 ||
    fail "$(basename "$file"): $(cat "$RELEASE_WORK/log")"
  echo "$(basename "$file"): valid SPDX, $(grep -c '"SPDXID": "SPDXRef-Package' "$file") packages"
done
