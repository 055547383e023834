#!/usr/bin/env bash
# `headroom watch`: a simulated server is followed, alone and while it is loaded; wrong flags,
# servers that are not there, and pages that are none.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! command -v python3 >/dev/null; then
  echo 'skipped: no python3'
  exit 77
fi

started=()
stop_all() {
  for one in "${started[@]}"; do kill "$one" 2>/dev/null || true; done
}
trap stop_all EXIT
# has FILE EXPRESSION: true of the JSON document `d`.
has() {
  python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), d' "$@" || fail "$1: not $2"
}
# begin FILE COMMAND...: in the background, until FILE holds an address, which becomes `url`.
begin() {
  local file=$1
  shift
  "$@" >"$file" 2>&1 &
  started+=($!)
  for _ in $(seq 200); do
    url=$(grep -om 1 'http://127.0.0.1:[0-9]*' "$file" 2>/dev/null) && return
    sleep 0.05
  done
  fail "no address: $(cat "$file")"
}

begin serve.txt "$HEADROOM" serve demo --port 0
served=$url

# Nobody asks for anything: it holds, and no load is simulated without lengths.
"$HEADROOM" watch "$served" --once --every 0.3 >idle.txt || fail "$(cat idle.txt)"
head -n 1 idle.txt | grep -qx 'HOLDS' || fail "$(cat idle.txt)"
grep -q '^traffic *0 requests/s come; none has ended; 0 run, 0 wait' idle.txt ||
  fail "$(cat idle.txt)"

# Under load: the lengths are those that are sent, and the largest load of these is simulated.
"$HEADROOM" observe "$served" --rate 20 --in 200 --out 8 --requests 600 --seconds 60 --warmup 0 \
  -o load >/dev/null &
started+=($!)
sleep 1
"$HEADROOM" watch "$served" demo --slo p99_ttft=2s --once --every 3 --json >busy.json ||
  fail "$(cat busy.json)"
has busy.json '5 < d["requests_per_s"] < 40 and d["engine"] == "vllm"'
has busy.json 'd["mean_prompt_tokens"] == 200 and d["mean_output_tokens"] == 8'
has busy.json 'd["limit"]["requests_per_s"] > 20 and d["limit"]["breaks"]'
has busy.json 'd["kv"]["pool_tokens"] > 100000 and d["verdict"] == "holds"'

# A device alone: the server says which model and engine it is.
"$HEADROOM" watch "$served" --device h100-sxm --once --every 2 --json >device.json ||
  fail "$(cat device.json)"
has device.json 'd["limit"]["requests_per_s"] > 20 and d["kv"]["pool_tokens"] > 100000'

# A system that does not hold it: exit code 4.
code=0
"$HEADROOM" watch "$served" demo --set device=rtx4090 --set engine.max_num_seqs=1 --once --every 2 \
  --slo p99_ttft=500ms --json >small.json || code=$?
[[ $code == 4 ]] || fail "exit code $code: $(cat small.json)"
has small.json 'd["verdict"] == "does_not_hold" and d["limit"]["requests_per_s_left"] < 0'

# Gauges, a line for each read, and a signal.
begin gauges.txt "$HEADROOM" watch "$served" --every 0.2 --port 0
grep -q "$url" <<<"$(sed -n 's/^gauges at //p' gauges.txt)" || fail "$(cat gauges.txt)"
python3 - "$url" <<'PY' || fail 'gauges'
import sys, urllib.request, urllib.error
text = urllib.request.urlopen(sys.argv[1] + "/metrics").read().decode()
assert "\nheadroom_server_up 1\n" in text, text
assert text.count('headroom_verdict{verdict="') == 3, text
for line in text.splitlines():
    if not line.startswith("#"):
        assert line.startswith("headroom_") and float(line.split()[-1]) >= 0, line
try:
    urllib.request.urlopen(sys.argv[1] + "/other")
    raise SystemExit("no 404")
except urllib.error.HTTPError as error:
    assert error.code == 404
PY
sleep 0.5
kill -INT "${started[-1]}"
code=0
wait "${started[-1]}" || code=$?
[[ $code == 130 ]] || fail "exit code $code after SIGINT"
[[ $(grep -c '^HOLDS' gauges.txt) -ge 2 ]] || fail "$(cat gauges.txt)"

# --- wrong input ---
expect_error 'Connection refused' "$HEADROOM" watch http://127.0.0.1:1 --once
expect_error 'every: value 0' "$HEADROOM" watch "$served" --every 0
expect_error 'window: value 5' "$HEADROOM" watch "$served" --every 10 --window 5
expect_error 'port: value 70000' "$HEADROOM" watch "$served" --port 70000
expect_error 'targets are kept by a system' "$HEADROOM" watch "$served" --slo p99_ttft=2s --once
expect_error 'expected one' "$HEADROOM" watch "$served" --model demo,demo2 --device h100-sxm --once
expect_error 'remote' "$HEADROOM" watch http://192.0.2.1:8000 --once
begin page.txt python3 -u -c 'import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"up 1\n")
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 0), Page); print("http://127.0.0.1:%d" % s.server_port)
s.serve_forever()'
expect_error 'no metrics of an engine' "$HEADROOM" watch "$url" --once
