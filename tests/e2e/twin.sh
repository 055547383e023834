#!/usr/bin/env bash
# A server's twin: measured, fitted, scored and asked in one command. Figures are not compared: a
# stand-in server is no engine.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! command -v python3 >/dev/null; then
  echo 'skipped: no python3'
  exit 77
fi

server=''
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true' EXIT
# serve ARGUMENT...: starts a stand-in server and sets `url`.
serve() {
  [[ -z $server ]] || kill "$server"
  rm -f port.txt
  python3 -B "$HEADROOM_SOURCE_DIR/tests/support/openai_server.py" "$@" >port.txt 2>server.txt &
  server=$!
  for _ in $(seq 200); do
    [[ -s port.txt ]] && break
    sleep 0.05
  done
  url=http://127.0.0.1:$(cat port.txt)
}
system=(--model llama-3.1-8b --device h100-sxm --engine vllm@0.19)
load=(--rate 50 --in 40 --out 8 --requests 40 --warmup 1)

serve --ttft-ms 20 --itl-ms 5
"$HEADROOM" twin "$url" "${system[@]}" "${load[@]}" --slo p90_ttft=2s -o mine >said.txt 2>stderr.txt
grep -q '^traffic ' said.txt || fail "$(cat said.txt)"
grep -q 'off by .* % at most' said.txt || fail "$(cat said.txt)"
grep -Eq '^(HOLDS|TIGHT|DOES NOT HOLD)' said.txt || fail "$(cat said.txt)"
for file in index.html calibrations.json scenario.json runs/one-user/observed.json \
  runs/many-users/observed.json runs/traffic/trace.csv; do
  [[ -s mine/$file ]] || fail "no mine/$file"
done
# The page has the three measurements; the model goes on living.
python3 - <<'PY' || fail 'the page'
import json, re
page = open("mine/index.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
assert data["kind"] == "twin"
assert [run["name"] for run in data["runs"]] == ["one-user", "many-users", "traffic"]
assert [run["fitted_on"] for run in data["runs"]] == [True, True, False]
assert len(data["runs"][2]["measured"]["ttft_ms"]) == 40
assert len(data["runs"][2]["simulated"]["ttft_ms"]) == 40
PY
"$HEADROOM" run mine/scenario.json --catalog mine --json >again.json
grep -q '"calibration": "twin"' again.json || fail 'the scenario does not use the row'
"$HEADROOM" validate runs mine/runs --catalog mine --level calibrated >score.txt
grep -q '8 users' score.txt || fail "$(cat score.txt)"

expect_twin_error() {
  local text=$1 code=0
  shift
  "$HEADROOM" twin "$@" >stdout.txt 2>stderr.txt || code=$?
  [[ $code == 2 ]] || fail "exit code $code: $*"
  grep -qF -- "$text" stderr.txt || fail "no '$text' in $(cat stderr.txt)"
}
expect_twin_error 'not overwritten' "$url" "${system[@]}" "${load[@]}" -o mine
expect_twin_error 'say what serves' "$url" "${load[@]}" -o other
expect_twin_error 'expected one of' "$url" "${system[@]}" "${load[@]}" --slo p99_no=1 -o other
expect_twin_error '--loop-users: expected 1' "$url" "${system[@]}" "${load[@]}" --loop-users 0 \
  -o other
expect_twin_error 'calibration' "$url" "${system[@]}" "${load[@]}" --fit no_such_constant -o other
[[ ! -e other ]] || fail 'a refused question left a folder'

# What was measured before the server was lost is kept.
serve --fault error_500 --after 30
expect_twin_error 'what was measured is in lost' "$url" "${system[@]}" "${load[@]}" -o lost
[[ -s lost/runs/one-user/trace.csv && ! -e lost/index.html ]] || fail 'what was kept'
