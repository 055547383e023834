#!/usr/bin/env bash
# `headroom serve --replicas`: several servers at consecutive ports, and one with a fleet behind it.
source "$(dirname "${BASH_SOURCE[0]}")/lib_serve.sh"

serve demo -o served --replicas 3
mapfile -t urls < <(sed -n 's/^serves .* at //p' served.txt)
[[ ${#urls[@]} == 3 ]] || fail "not three: $(cat served.txt)"
# Each is a deployment of its own.
for i in 0 1 2; do
  for _ in $(seq $((i + 1))); do
    [[ $(status "${urls[i]}/v1/completions" -d '{"prompt": "x", "max_tokens": 2}') == 200 ]] ||
      fail "$i: $(cat answer.json)"
  done
done
ends 0
for i in 0 1 2; do
  [[ $(number "served/$i/summary.json" finished) == $((i + 1)) ]] || fail "$i served another number"
  "$HEADROOM" run "served/$i/scenario.json" -o "replay/$i" >/dev/null
  cmp "served/$i/requests.csv" "replay/$i/requests.csv" || fail "$i: the replay differs"
done

# One whose results cannot be written does not take those of the others along.
serve demo -o lossy --replicas 3
rm -r lossy/.1.partial-*
kill -TERM "$server"
code=0
wait "$server" || code=$?
server=
[[ $code == 2 ]] || fail "exit code $code instead of 2"
grep -q 'lossy/.1.*requests.csv: cannot write' server_errors.txt ||
  fail "not said: $(cat server_errors.txt)"
for i in 0 2; do [[ -s lossy/$i/summary.json ]] || fail "$i is lost"; done
[[ ! -e lossy/1 ]] || fail 'half of the results of one server'

# Consecutive ports, all of them or none.
serve demo
taken=${url##*:}
if ((taken < 65535)); then
  expect_error 'cannot listen there' "$HEADROOM" serve demo --replicas 2 --port $((taken - 1))
fi
ends 0
expect_error '--port' "$HEADROOM" serve demo --replicas 2 --port 65535
expect_error '--replicas' "$HEADROOM" serve demo --replicas 0

# Behind one port: replicas with a router, and pools for prefill and decode.
for scenario in demo fleet-disaggregated; do
  options=()
  if [[ $scenario == demo ]]; then options=(--set fleet.replicas=4); fi
  serve "$scenario" -o "one-$scenario" "${options[@]}"
  python3 -B "$client" "$url" load 40 2
  ends 0
  "$HEADROOM" run "one-$scenario/scenario.json" -o "one-replay-$scenario" >/dev/null
  cmp "one-$scenario/requests.csv" "one-replay-$scenario/requests.csv" ||
    fail "$scenario: the replay differs"
done
