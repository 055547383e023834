#!/usr/bin/env bash
# Runs a static program where there is nothing but it, and on bare Debian 11 to 13: the demo, a
# server, a client that looks up its name, and certificates kept where other distributions do.
#   scripts/release/check_static.sh PROGRAM
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
program=$(realpath "$1")

server=
stop_server() {
  if [[ -n $server ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  server=
}
trap stop_server EXIT
# address_of FILE PATTERN: what the server prints within ten seconds.
address_of() {
  local address=
  for _ in $(seq 200); do
    address=$(sed -n "s/$2/\1/p" "$1")
    [[ -z $address ]] || break
    sleep 0.05
  done
  [[ -n $address ]] || fail "no server: $(cat "$1")"
  echo "$address"
}
load=(--rate 100 --in 20 --out 4 --requests 10 --warmup 1 --model llama-3.1-8b --device h100-sxm
  --engine vllm@0.19)
# observed URL [VARIABLE=VALUE]: measures the server there from inside the root.
observed() {
  rm -rf "$bare/tmp/seen"
  in_bare /headroom observe "$1" "${load[@]}" -o /tmp/seen >"$RELEASE_WORK/seen" 2>&1
}

check_in_bare() {
  cp "$program" "$bare/headroom"
  [[ $(digest_of in_bare /headroom) == "$(expected_digest)" ]] || fail "other results in $bare"
  env -i "$(command -v chroot)" "$bare" /headroom serve demo --port 0 >"$RELEASE_WORK/served" 2>&1 &
  server=$!
  local url
  url=$(address_of "$RELEASE_WORK/served" '^serves .* at \(.*\)')
  observed "${url/127.0.0.1/localhost}" || fail "observe: $(cat "$RELEASE_WORK/seen")"
  stop_server
}

# With a certificate of our own where Fedora keeps those it trusts, and without it.
check_certificates() {
  if ! command -v openssl >/dev/null; then
    return
  fi
  local keys=$RELEASE_WORK/certificate url bundle=$bare/etc/pki/tls/certs/ca-bundle.crt
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$keys.key" -out "$keys.crt" 2>/dev/null
  python3 -B tests/support/openai_server.py --tls "$keys.crt" "$keys.key" \
    >"$RELEASE_WORK/served" 2>&1 &
  server=$!
  url=https://localhost:$(address_of "$RELEASE_WORK/served" '^\([0-9]*\)$')
  if observed "$url"; then fail 'a certificate that nobody trusts was trusted'; fi
  grep -q 'certificate verify failed' "$RELEASE_WORK/seen" || fail "$(cat "$RELEASE_WORK/seen")"
  mkdir -p "$(dirname "$bundle")"
  cp "$keys.crt" "$bundle"
  observed "$url" || fail "the machine's certificates are not found: $(cat "$RELEASE_WORK/seen")"
  stop_server
}

if [[ $(id -u) == 0 ]]; then
  # An empty folder, as a container made of nothing.
  bare=$RELEASE_WORK/roots/nothing
  mkdir -p "$bare/tmp"
  cp "$program" "$bare/headroom"
  [[ $(digest_of in_bare /headroom) == "$(expected_digest)" ]] || fail 'other results in a folder'
  echo 'static program: runs in an empty root'
fi
for suite in bullseye bookworm trixie; do
  bare "$suite" static
  [[ -n $bare ]] || continue
  check_in_bare
  [[ -e $bare/usr/lib/ssl ]] || check_certificates
  echo "static program: runs on a bare $suite (glibc $(glibc_of_bare)), looks up names there"
done
