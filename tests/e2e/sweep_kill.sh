#!/usr/bin/env bash
# A study that is killed at any time goes on with nothing lost and nothing doubled; Ctrl-C, SIGTERM
# and SIGHUP end it in order.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
cat >study.json <<'JSON'
{ "base": "small.json",
  "vary": [
    { "path": "workload.arrivals.request_rate", "range": { "from": 5, "to": 50, "step": 5 } },
    { "path": "workload.num_requests", "range": { "from": 1000, "to": 10000, "step": 1000 } }
  ] }
JSON
runs() { sqlite3 "$1" 'SELECT COUNT(*) FROM runs' 2>/dev/null || echo 0; }

"$HEADROOM" sweep study.json -o whole.db >/dev/null
sqlite3 whole.db .dump >whole.sql

# Killed after times that grow, so that some fall into the start and some into the middle.
kills=0
for delay in 0.02 0.05 0.1 0.2 0.3 0.4; do
  "$HEADROOM" sweep study.json -o killed.db --resume >/dev/null 2>&1 &
  program=$!
  sleep $delay
  kill -KILL $program 2>/dev/null && kills=$((kills + 1))
  wait $program 2>/dev/null || true
done
((kills >= 2)) || fail "only $kills kills came before the end"
"$HEADROOM" sweep study.json -o killed.db --resume >/dev/null
sqlite3 killed.db .dump | cmp - whole.sql || fail 'a killed and resumed study differs'

# A signal: exit code 128 + its number, whole runs only, and it goes on. Single steps, so that it
# lasts.
slow=(--set run.single_step=true --set workload.max_tokens.value=201)
for signal in INT:130 TERM:143 HUP:129; do
  db=stopped-${signal%:*}.db
  "$HEADROOM" sweep study.json "${slow[@]}" -j 1 -o "$db" >stopped.txt 2>stderr.txt &
  program=$!
  for _ in $(seq 200); do
    [[ -s $db-wal ]] && break
    sleep 0.05
  done
  sleep 0.3
  kill -"${signal%:*}" $program
  code=0
  wait $program || code=$?
  [[ $code == "${signal#*:}" ]] || fail "exit code $code: $(cat stderr.txt)"
  grep -q -- 'add --resume' stopped.txt || fail "no word of --resume: $(cat stopped.txt)"
  [[ $(ls "$db"*) == "$db" ]] || fail 'journal files were left'
  (($(runs "$db") < 100)) || fail 'the study was over before it was interrupted'
done
"$HEADROOM" sweep study.json "${slow[@]}" -o "$db" --resume >/dev/null
[[ $(runs "$db") == 100 ]] || fail 'runs are missing after --resume'
[[ $(sqlite3 "$db" "SELECT COUNT(*) FROM runs WHERE summary LIKE '%interrupted%'") == 0 ]] ||
  fail 'a run that was cut short was stored'
