# What tests of `headroom serve` share: starting servers, and asking them.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
client="$HEADROOM_SOURCE_DIR/tests/e2e/serve_client.py"

server=
stop_server() {
  if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
}
trap stop_server EXIT

# serve ARGUMENT...: starts a server at a free port; sets `server` and `url`.
serve() {
  : >served.txt
  "$HEADROOM" serve "$@" --port 0 >served.txt 2>server_errors.txt &
  server=$!
  for _ in $(seq 400); do
    grep -q :// served.txt && break
    sleep 0.05
  done
  url=$(sed -n 's/^serves .* at //p' served.txt)
  [[ -n $url ]] || fail "no server: $(cat served.txt server_errors.txt)"
}
# status CURL_ARGUMENT...: of the answer, whose body goes to answer.json.
status() { curl -s -o answer.json -w '%{http_code}' "$@"; }
# ends CODE [SIGNAL]: the server stops by itself.
ends() {
  local code=0
  kill "-${2:-TERM}" "$server"
  wait "$server" || code=$?
  server=
  [[ $code == "$1" ]] || fail "exit code $code instead of $1: $(cat server_errors.txt)"
  [[ ! -s server_errors.txt ]] || fail "$(cat server_errors.txt)"
}
