#!/usr/bin/env bash
# Installs clients that `headroom serve` is tested against, each in a virtual environment of its own
# outside of the source: OpenAI's package and the library tokenizers, and AIPerf. What cannot be had
# is skipped, and so are the tests that need it.
#   scripts/serve_clients.sh
# HEADROOM_CLIENTS: the folder (about 1 GB).
set -euo pipefail

clients=${HEADROOM_CLIENTS:-$HOME/.cache/headroom/clients}
python=$(for p in python3.12 python3.13 python3.11 python3; do
  "$p" -c '' 2>/dev/null && command -v "$p" && break
done)
# install FOLDER PACKAGE...
install() {
  local folder=$clients/$1
  shift
  [[ ! -f $folder/complete ]] || return 0
  "$python" -m venv "$folder"
  if "$folder/bin/pip" install -q "$@"; then
    touch "$folder/complete"
  else
    echo "skipped: $* cannot be installed"
  fi
}
mkdir -p "$clients"
install openai openai tokenizers
install aiperf aiperf
