#!/usr/bin/env bash
# Searches of a study: the same contents for any number of threads, from merged shards and after a
# kill; what is printed; the ready studies.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
cat >study.json <<'JSON'
{
  "base": "small.json",
  "vary": [{ "path": "engine.max_num_seqs", "values": [2, 8, 32] }],
  "replications": 2,
  "search": [
    { "name": "rate", "kind": "max_request_rate", "from": 1, "to": 200, "tolerance": 0.05,
      "limits": { "p99_ttft_ms": 500 } },
    { "name": "share", "kind": "min_gpu_memory_utilization", "from": 0.1, "to": 0.9,
      "tolerance": 0.02 },
    { "name": "front", "kind": "pareto", "maximize": ["output_throughput"],
      "minimize": ["p99_tpot_ms"] }
  ]
}
JSON
contents() { sqlite3 "$1" .dump; }
ask() { sqlite3 one.db "$1"; }

"$HEADROOM" sweep study.json --dry-run >plan.txt
grep -qE '^search +rate: max_request_rate of workload.arrivals.request_rate, 1 to 200' plan.txt ||
  fail "plan: $(cat plan.txt)"
"$HEADROOM" sweep study.json -j 1 -o one.db >one.txt
"$HEADROOM" sweep study.json -j 2 -o two.db >two.txt
contents one.db >one.sql
contents two.db | cmp - one.sql || fail '-j 1 and -j 2 differ'
sed 's/two.db/one.db/' two.txt | cmp - one.txt || fail 'what is printed differs'
[[ $(ask 'SELECT COUNT(*) FROM searches') == 9 ]] || fail "3 searches of 3 points: $(cat one.txt)"
[[ $(ask "SELECT COUNT(*) FROM searches WHERE name = 'share' AND status = 'found'") == 3 ]] ||
  fail "shares: $(cat one.txt)"
grep -q '^front: . of 3 points are on the front' one.txt || fail "front: $(cat one.txt)"
grep -qE '^rate: max_request_rate of workload.arrivals.request_rate' one.txt ||
  fail "rate: $(cat one.txt)"

# The runs on both sides of an answer say what it says.
value=$(ask "SELECT value FROM searches WHERE name = 'share' AND point = 0")
below=$(ask "SELECT low FROM searches WHERE name = 'share' AND point = 0")
small() {
  "$HEADROOM" run small.json --set engine.max_num_seqs=2 --set engine.gpu_memory_utilization="$1" \
    --json
}
small "$value" >at.json
grep -q '"started": true' at.json || fail "$value does not start"
small "$below" >below.json || true
grep -q '"started": true' below.json && fail "$below starts"

# Done is done; shards; killed at any time.
"$HEADROOM" sweep study.json -o two.db --resume >/dev/null
contents two.db | cmp - one.sql || fail 'resuming a complete study changed it'
"$HEADROOM" sweep study.json --shard 1/2 -o a.db >/dev/null
"$HEADROOM" sweep study.json --shard 2/2 -o b.db >/dev/null
"$HEADROOM" merge merged.db b.db a.db >/dev/null
contents merged.db | cmp - one.sql || fail 'merged shards differ from the whole'
code=0
"$HEADROOM" merge half.db b.db >half.txt || code=$?
[[ $code == 3 ]] || fail "missing searches: exit code $code"
grep -q 'missing    7 of 9 searches' half.txt || fail "missing searches: $(cat half.txt)"
for delay in 0.1 0.2 0.3; do
  "$HEADROOM" sweep study.json -o killed.db --resume >/dev/null 2>&1 &
  program=$!
  sleep $delay
  kill -KILL $program 2>/dev/null || true
  wait $program 2>/dev/null || true
done
"$HEADROOM" sweep study.json -o killed.db --resume >/dev/null
contents killed.db | cmp - one.sql || fail 'a killed and resumed search differs'

# A run that fails ends its search with a line, and is tried again.
cat >failing.json <<'JSON'
{ "base": { "model": "llama-3.1-8b", "device": "h100-sxm", "engine": { "max_model_len": 4096 },
            "workload": { "trace": { "file": "later.csv" } } },
  "search": [{ "kind": "max_concurrency", "path": "engine.max_num_seqs", "from": 1, "to": 8 }] }
JSON
code=0
"$HEADROOM" sweep failing.json -o failing.db >failing.txt || code=$?
[[ $code == 3 ]] || fail "failed search: exit code $code"
grep -q 'point 0: engine.max_num_seqs = 1, replication 0: .*later.csv' failing.txt ||
  fail "the failure: $(cat failing.txt)"
printf '%s\n' TIMESTAMP,ContextTokens,GeneratedTokens '2023-11-16 18:17:03.97,10,5' >later.csv
"$HEADROOM" sweep failing.json -o failing.db --resume >failing.txt
grep -q 'point 0: all values pass' failing.txt || fail "after another try: $(cat failing.txt)"

# A page, also of a study without runs of its own.
"$HEADROOM" report one.db -o page.html >/dev/null
"$HEADROOM" report failing.db -o searches.html >/dev/null

# Ready: as many users as whole contexts fit in the pool.
"$HEADROOM" sweep max-context -o context.db >context.txt
users=$(sqlite3 context.db "SELECT group_concat(CAST(value AS INTEGER)) FROM searches
  WHERE name = 'users'")
tokens=$(sqlite3 context.db "SELECT DISTINCT json_extract(metrics, '\$.kv_tokens') FROM probes
  WHERE search = 0")
expected=""
for context in 2048 4096 8192 16384 32768; do
  expected+="${expected:+,}$((${tokens%.*} / context))"
done
[[ $users == "$expected" ]] || fail "users $users; whole contexts in $tokens tokens: $expected"
grep -q NOT context.txt && fail "contradictions: $(cat context.txt)"
exit 0
