#!/usr/bin/env bash
# Long run of `headroom serve` under load: 2,000 streams of 32 replicas, 40,000 tokens/s. Fails if a
# token is lost or doubled, if one in a hundred is more than 5 ms late, or if memory grows.
#   scripts/soak_serve.sh [SECONDS]        default: 600; below 60 the common beginning still shows
# With root's rights both programs get real-time priority, so that other programs of this machine do
# not count.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cmake --preset release >/dev/null
cmake --build --preset release --target headroom_app headroom_serve_streams
first=()
if [[ $(id -u) == 0 ]]; then first=(chrt -f 10); fi
exec "${first[@]}" python3 -B tests/live/serve_load.py build/release/bin --seconds "${1:-600}" \
  --replicas 32 --time-scale 0.2 --most-late 5
