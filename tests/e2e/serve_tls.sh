#!/usr/bin/env bash
# `headroom serve` with TLS: --ssl-certfile and --ssl-keyfile.
source "$(dirname "${BASH_SOURCE[0]}")/lib_serve.sh"

# certificate NAME: NAME.pem and NAME.key, for 127.0.0.1.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -out "$1.pem" -keyout "$1.key" \
    2>openssl.txt || fail "$(cat openssl.txt)"
}
certificate ours
certificate other
export SSL_CERT_FILE=$PWD/ours.pem

serve demo -o served --ssl-certfile ours.pem --ssl-keyfile ours.key
[[ $url == https://* ]] || fail "no https: $url"
port=${url##*:}
[[ $(status --cacert ours.pem "$url/health") == 200 ]] || fail 'not up'
# Clients find out who they talk to, and that they need TLS.
code=0
curl -s --cacert other.pem "$url/health" || code=$?
[[ $code == 60 ]] || fail "another certificate will do: $code"
code=0
curl -s "http://127.0.0.1:$port/health" || code=$?
[[ $code != 0 ]] || fail 'it answers without TLS'
# SECLEVEL=0: OpenSSL's clients otherwise refuse by themselves.
for version in tls1 tls1_1; do
  ! openssl s_client "-$version" -cipher DEFAULT@SECLEVEL=0 -connect "127.0.0.1:$port" \
    </dev/null >handshake.txt 2>&1 || fail "$version is taken"
done
openssl s_client -tls1_2 -CAfile ours.pem -verify_return_error -connect "127.0.0.1:$port" \
  </dev/null >handshake.txt 2>&1 || fail "no TLS 1.2: $(cat handshake.txt)"
grep -q 'Verify return code: 0' handshake.txt || fail "$(cat handshake.txt)"

# Streams, errors, and a connection that is used again.
python3 -B "$client" "$url" load 30 1
python3 -B "$client" "$url" api
connects=$(curl -s --cacert ours.pem -w '%{num_connects} ' "$url/version" "$url/load" -o 1 -o 2)
[[ $connects == '1 0 ' ]] || fail 'the connection is not kept'
# A large body, in both directions.
python3 -c 'import json; print(json.dumps({"prompt": "word " * 1000000}))' >large.json
[[ $(status --cacert ours.pem "$url/tokenize" -d @large.json) == 200 ]] || fail 'a large body'
grep -q '"count":1000001' answer.json || fail "$(head -c 300 answer.json)"

# Clients that go are noticed; so are those that say nothing at all, and what is no TLS.
for _ in 1 2 3; do
  timeout 0.3 curl -sN --cacert ours.pem "$url/v1/completions" -o gone.txt \
    -d '{"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true}' || true
  head -c 3000 /dev/urandom >"/dev/tcp/127.0.0.1/$port" || true
  : >"/dev/tcp/127.0.0.1/$port"
done
for _ in $(seq 100); do
  curl -s --cacert ours.pem "$url/load" >load.json
  grep -q '"server_load":0}' load.json && break
  sleep 0.05
done
grep -q '"server_load":0}' load.json || fail "clients that went are served: $(cat load.json)"
ends 0
"$HEADROOM" run served/scenario.json -o replay >/dev/null
cmp served/requests.csv replay/requests.csv || fail 'the replay serves them otherwise'

# An answer that is broken off is seen to be so.
serve demo --ssl-certfile ours.pem --ssl-keyfile ours.key --drain 0
curl -sN --cacert ours.pem "$url/v1/completions" \
  -d '{"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true}' >last.txt &
last=$!
sleep 0.5
ends 0
! wait "$last" || fail 'an answer that is cut looks whole'

# One file may hold both.
cat ours.pem ours.key >both.pem
serve demo --ssl-certfile both.pem
[[ $(status --cacert ours.pem "$url/health") == 200 ]] || fail 'not up with one file'
ends 0

expect_error '--ssl-certfile' "$HEADROOM" serve demo --ssl-keyfile ours.key
expect_error 'none.pem: cannot read' "$HEADROOM" serve demo --ssl-certfile none.pem
expect_error '--ssl-keyfile' "$HEADROOM" serve demo --ssl-certfile ours.pem --ssl-keyfile other.key
expect_error 'PEM' "$HEADROOM" serve demo --ssl-certfile ours.pem
expect_error 'PEM' "$HEADROOM" serve demo --ssl-certfile ours.key --ssl-keyfile ours.key
openssl ec -in ours.key -aes256 -passout pass:secret -out locked.key 2>openssl.txt
expect_error 'has a password' \
  "$HEADROOM" serve demo --ssl-certfile ours.pem --ssl-keyfile locked.key
