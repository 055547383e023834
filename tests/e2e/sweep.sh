#!/usr/bin/env bash
# A study: the same contents for any number of threads and from merged shards; --dry-run, --resume.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
cat >study.json <<'JSON'
// Paths in both spellings, a log range, a condition.
{
  "base": "small.json",
  "vary": [
    { "path": "workload.arrivals.request_rate",
      "log_range": { "from": 5, "to": 500, "points": 5 } },
    { "path": "/engine/max_num_seqs", "values": [2, 8, 64] }
  ],
  "skip_if": [{ "engine.max_num_seqs": 2, "workload.arrivals.request_rate": { ">": 50 } }],
  "replications": 2
}
JSON
contents() { sqlite3 "$1" .dump; }
count() { sqlite3 "$1" "SELECT COUNT(*) FROM $2"; }

# 5 x 3 points less 2 that are left out, 2 runs each.
"$HEADROOM" sweep study.json --dry-run >plan.txt
grep -qE '^points +13 \(2 excluded by conditions\)' plan.txt || fail "points: $(cat plan.txt)"
grep -qE '^runs +26: 2 per point' plan.txt || fail "runs: $(cat plan.txt)"
grep -qE '^time +.* with -j .* sample runs' plan.txt || fail "time: $(cat plan.txt)"
[[ ! -e results ]] || fail '--dry-run wrote something'

"$HEADROOM" sweep study.json -j 1 -o one.db >one.txt
"$HEADROOM" sweep study.json -j 2 -o two.db >two.txt
[[ $(count one.db runs) == 26 ]] || fail "26 runs: $(count one.db runs)"
[[ $(ls one.db*) == one.db ]] || fail 'files beside the finished database'
contents one.db >one.sql
contents two.db | cmp - one.sql || fail '-j 1 and -j 2 differ'
[[ $(sqlite3 one.db "SELECT value FROM meta WHERE key = 'total_runs'") == 26 ]] || fail total_runs

# A run of a study is the run by itself, with the seed of its replication.
"$HEADROOM" run small.json --set workload.arrivals.request_rate=50 --set engine.max_num_seqs=8 \
  --set seed=2 --json >alone.json
run=$(sqlite3 one.db "SELECT run FROM runs WHERE replication = 1 AND point =
  (SELECT point FROM parameters WHERE path = 'workload.arrivals.request_rate' AND value = '50.0'
   INTERSECT
   SELECT point FROM parameters WHERE path = 'engine.max_num_seqs' AND value = '8')")
digest=$(sqlite3 one.db "SELECT digest FROM runs WHERE run = $run")
grep -q "\"digest\": \"$digest\"" alone.json || fail "run $run differs from the run by itself"
[[ $(sqlite3 one.db "SELECT seed FROM runs WHERE run = $run") == 2 ]] || fail 'seed of run 1'

# Each point and each run has the verdict of the run by itself.
"$HEADROOM" sweep study.json -o told.db --json >told.json
grep -q '"study": "[^"]' told.json || fail 'the study has no name'
python3 - "$run" <<'PY'
import json, sys
told, alone = json.load(open("told.json")), json.load(open("alone.json"))
assert len(told["points"]) == 13 and all(len(p["runs"]) == 2 for p in told["points"])
(one,) = [r for p in told["points"] for r in p["runs"] if r["run"] == int(sys.argv[1])]
for key in ("verdict", "reason", "binds"):
    assert one[key] == alone[key], (key, one, alone[key])
order = ["holds", "tight", "does_not_hold", "does_not_start"]
for point in told["points"]:
    worst = max(point["runs"], key=lambda r: order.index(r["verdict"]))
    assert point["verdict"] == worst["verdict"], point
PY
expect_error '--json' "$HEADROOM" sweep study.json --dry-run --json

# Shards, whichever way round they are merged; without one of them, its runs are named.
"$HEADROOM" sweep study.json --shard 1/2 -o a.db >/dev/null
"$HEADROOM" sweep study.json --shard 2/2 -o b.db >/dev/null
"$HEADROOM" merge merged.db b.db a.db >merged.txt
grep -q '26 of 26 runs' merged.txt || fail "merge: $(cat merged.txt)"
contents merged.db | cmp - one.sql || fail 'merged shards differ from the whole'
code=0
"$HEADROOM" merge half.db b.db >half.txt || code=$?
[[ $code == 3 ]] || fail "missing runs: exit code $code"
grep -q 'missing    14 runs: 0-1, 4-5' half.txt || fail "missing runs: $(cat half.txt)"

# A shard goes on as the whole study.
"$HEADROOM" sweep study.json -o half.db --resume >/dev/null
contents half.db | cmp - one.sql || fail 'a resumed shard differs from the whole'
"$HEADROOM" sweep study.json -o half.db --resume >/dev/null
contents half.db | cmp - one.sql || fail 'resuming a complete study changed it'

# Latencies are there exactly where a run is stationary and finished something.
bad=$(sqlite3 one.db "SELECT COUNT(*) FROM runs WHERE status <> 'done' OR (stationary = 1) <>
  (run IN (SELECT run FROM metrics WHERE name = 'p99_ttft_ms'))")
[[ $bad == 0 ]] || fail "$bad runs whose latencies do not follow their label"
[[ $(sqlite3 one.db 'SELECT COUNT(DISTINCT stationary) FROM runs') == 2 ]] || fail 'both labels'

# Runs that fail are rows; the rest of the study is there, and they are tried again.
cat >failing.json <<'JSON'
{ "base": "small.json",
  "vary": [{ "path": "workload", "values": [
    { "arrivals": { "process": "all_at_once" }, "num_requests": 5,
      "prompt": { "tokens": 9 }, "output": { "tokens": 2 } },
    { "trace": { "file": "later.csv" } }] }] }
JSON
code=0
"$HEADROOM" sweep failing.json -o failing.db >failing.txt || code=$?
[[ $code == 3 ]] || fail "failed runs: exit code $code"
grep -q 'run 1 (point 1) failed: .*later.csv' failing.txt || fail "the failure: $(cat failing.txt)"
states() { sqlite3 failing.db 'SELECT group_concat(status) FROM runs'; }
[[ $(states) == done,failed ]] || fail "states: $(states)"
printf '%s\n' TIMESTAMP,ContextTokens,GeneratedTokens '2023-11-16 18:17:03.97,10,5' >later.csv
"$HEADROOM" sweep failing.json -o failing.db --resume >/dev/null
[[ $(states) == done,done ]] || fail "after another try: $(states)"

# Without -o; the schema.
"$HEADROOM" sweep study.json >/dev/null
contents results/study.db | cmp - one.sql || fail 'results/study.db'
"$HEADROOM" list study-schema | cmp - "$HEADROOM_SOURCE_DIR/scenarios/study.schema.json" ||
  fail 'refresh the schema: headroom list study-schema > scenarios/study.schema.json'
