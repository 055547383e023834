#!/usr/bin/env bash
# Programs of others with `headroom serve`: OpenAI's package, nginx in front of four servers, and
# Prometheus. What is not installed is skipped (scripts/serve_clients.sh; Debian's nginx-light and
# prometheus).
source "$(dirname "${BASH_SOURCE[0]}")/lib_serve.sh"
openai="${HEADROOM_CLIENTS:-$HOME/.cache/headroom/clients}/openai/bin/python"
ran=0
others=()
stop_others() {
  stop_server
  for other in "${others[@]}"; do kill "$other" 2>/dev/null || true; done
}
trap stop_others EXIT
free_port() {
  python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}
# answers URL: waits until somebody does.
answers() {
  for _ in $(seq 200); do
    curl -sf -o up.txt "$1" && return
    sleep 0.05
  done
  fail "nobody at $1"
}

if "$openai" -c 'import openai' 2>/dev/null; then
  KEY=secret serve demo --api-key-env KEY
  "$openai" -B "$HEADROOM_SOURCE_DIR/tests/e2e/serve_openai.py" "$url" secret
  ends 0
  ran=1
else
  echo "skipped: OpenAI's package is not installed"
fi

if command -v nginx >/dev/null; then
  serve demo -o behind --replicas 4
  port=$(free_port)
  {
    echo "daemon off; worker_processes 1; pid $PWD/nginx.pid; error_log $PWD/nginx.log;"
    echo 'events { worker_connections 512; }'
    echo "http { access_log off; client_body_temp_path $PWD/body; proxy_temp_path $PWD/proxy;"
    echo "fastcgi_temp_path $PWD/fastcgi; uwsgi_temp_path $PWD/uwsgi; scgi_temp_path $PWD/scgi;"
    echo 'upstream engines { keepalive 16;'
    sed -n 's/^serves .* at http:..\(.*\)/server \1;/p' served.txt
    echo "} server { listen 127.0.0.1:$port; location / { proxy_pass http://engines;"
    echo 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }'
  } >nginx.conf
  nginx -p "$PWD" -c "$PWD/nginx.conf" 2>nginx.txt &
  others+=($!)
  answers "http://127.0.0.1:$port/health"
  python3 -B "$client" "http://127.0.0.1:$port" load 60 3
  # A client that goes is noticed through the proxy.
  timeout 0.5 curl -sN "http://127.0.0.1:$port/v1/completions" -o gone.txt \
    -d '{"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true}' || true
  kill "${others[-1]}"
  ends 0
  sum=0
  for i in 0 1 2 3; do
    finished=$(number "behind/$i/summary.json" finished)
    ((finished > 0)) || fail "$i had nothing to do"
    sum=$((sum + finished))
  done
  [[ $sum == 60 ]] || fail "$sum requests finished instead of 60"
  cat behind/*/summary.json | grep -q '"cancelled": 1' || fail 'the client that went was served'
  ran=1
else
  echo 'skipped: nginx is not installed'
fi

if command -v prometheus >/dev/null; then
  serve demo --time-scale 10
  port=$(free_port)
  printf '%s\n' 'global: {scrape_interval: 500ms}' 'scrape_configs:' '  - job_name: served' \
    "    static_configs: [{targets: ['${url#http://}']}]" >prometheus.yml
  prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --log.level=error \
    --web.listen-address="127.0.0.1:$port" 2>prometheus.txt &
  others+=($!)
  answers "http://127.0.0.1:$port/-/ready"
  python3 -B "$client" "$url" load 40 1
  tokens=$(curl -s "$url/metrics" | sed -n 's/^vllm:generation_tokens_total{.*} //p')
  for _ in $(seq 100); do
    curl -s "http://127.0.0.1:$port/api/v1/query" -o found.json \
      --data-urlencode 'query=sum(vllm:generation_tokens_total)'
    grep -q "\"${tokens%.0}\"" found.json && break
    sleep 0.1
  done
  grep -q "\"${tokens%.0}\"" found.json ||
    fail "tokens in Prometheus: $(cat found.json), not $tokens"
  curl -s "http://127.0.0.1:$port/api/v1/query" -o found.json --data-urlencode \
    'query=histogram_quantile(0.5, sum by (le) (vllm:time_to_first_token_seconds_bucket)) < 1'
  grep -q '"value"' found.json || fail "no median of TTFT: $(cat found.json)"
  curl -s "http://127.0.0.1:$port/api/v1/targets" | grep -q '"health":"up"' || fail 'not scraped'
  kill "${others[-1]}"
  ends 0
  ran=1
else
  echo 'skipped: prometheus is not installed'
fi
((ran == 1)) || exit 77
