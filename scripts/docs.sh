#!/usr/bin/env bash
# Builds the documentation as a site and checks every link and anchor of it, and those of the
# Markdown files elsewhere in the repository.
#   scripts/docs.sh [FOLDER]                 into build/docs, or FOLDER; open index.html
#   scripts/docs.sh --pictures [PAGE...]     first draws the pictures of the question pages again
# Exits with 77 when mkdocs or its theme is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Debian's Python: another one on the PATH would not find Debian's packages.
python=/usr/bin/python3
if [[ ${1:-} == --pictures ]]; then
  shift
  "$python" "$root/scripts/docs/pictures.py" "$@"
  set --
fi
if [[ ${1:-} == -* || $# -gt 1 ]]; then
  echo 'usage: scripts/docs.sh [FOLDER | --pictures [PAGE...]]' >&2
  exit 2
fi
site=$(realpath -m "${1:-$root/build/docs}")
if ! "$python" -c 'from mkdocs.utils import get_theme_names as names
assert "material" in names()' 2>/dev/null; then
  echo 'docs.sh: skipped: mkdocs or its theme is missing (scripts/setup.sh test)' >&2
  exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$python" -m mkdocs build --strict --config-file "$root/mkdocs.yml" --site-dir "$site" \
  >"$log" 2>&1 || {
  grep -v '^INFO' "$log" >&2
  exit 1
}
"$python" "$root/scripts/docs/check_links.py" "$site" "$root/README.md" \
  "$root/notebooks/README.md" "$root/hardware/probe/README.md"
echo "Site:  $site/index.html"
