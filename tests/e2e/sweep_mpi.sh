#!/usr/bin/env bash
# The same study over the ranks of an MPI job: equal contents, resumed after a lost rank, errors.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

headroom_mpi=$(dirname "$HEADROOM")/headroom-mpi
if [[ ! -x $headroom_mpi ]] || ! { command -v mpirun && command -v sqlite3; } >/dev/null; then
  echo 'skipped: headroom-mpi, mpirun or sqlite3 is missing'
  exit 77
fi
ranks() { # ranks N ARGUMENT...
  local count=$1
  shift
  mpirun --allow-run-as-root --oversubscribe -n "$count" "$headroom_mpi" "$@"
}
contents() { sqlite3 "$1" .dump; }

small_scenario >small.json
points='"base": "small.json",
  "vary": [
    { "path": "workload.arrivals.request_rate", "values": [5, 20, 80] },
    { "path": "engine.max_num_seqs", "values": [2, 8, 64] }
  ],
  "replications": 4'
echo "{ $points }" >runs.json
echo "{ $points, \"search\": [
    { \"name\": \"share\", \"kind\": \"min_gpu_memory_utilization\", \"from\": 0.1, \"to\": 0.9,
      \"tolerance\": 0.05 },
    { \"name\": \"front\", \"kind\": \"pareto\", \"maximize\": [\"output_throughput\"],
      \"minimize\": [\"p99_tpot_ms\"] } ] }" >study.json
"$HEADROOM" sweep study.json -j 1 -o one.db >/dev/null
contents one.db >one.sql
for count in 1 2 4; do
  ranks "$count" study.json -o "ranks$count.db" >"ranks$count.txt"
  grep -q '^36 of 36 runs, 0 failed' "ranks$count.txt" || fail "$(cat "ranks$count.txt")"
  grep -q '^9 of 9 searches, 0 failed' "ranks$count.txt" || fail "$(cat "ranks$count.txt")"
  contents "ranks$count.db" | cmp - one.sql || fail "$count ranks differ from one thread"
done

# A rank that is lost ends the job, not the results.
ranks 3 runs.json -o lost.db --set workload.num_requests=30000 >/dev/null 2>&1 &
job=$!
for _ in $(seq 1000); do # until some runs are stored
  (($(stat -c %s lost.db-wal 2>/dev/null || echo 0) > 50000)) && break
  sleep 0.01
done
pkill -9 -n -f "^$headroom_mpi runs.json -o lost.db" || true
wait "$job" || true
(($(sqlite3 lost.db 'SELECT COUNT(*) FROM runs') < 36)) || fail 'the job had ended before the loss'
ranks 3 runs.json -o lost.db --set workload.num_requests=30000 --resume >/dev/null
"$HEADROOM" sweep runs.json -o whole.db --set workload.num_requests=30000 >/dev/null
contents whole.db >whole.sql
contents lost.db | cmp - whole.sql || fail 'after a lost rank'

# SIGTERM and SIGHUP, as Slurm and a closed terminal send them, keep what is stored.
for signal in TERM:143 HUP:129; do
  "$headroom_mpi" runs.json -o stopped.db --set run.single_step=true \
    --set workload.num_requests=30000 >/dev/null 2>errors.txt &
  job=$!
  for _ in $(seq 200); do
    [[ -s stopped.db-wal ]] && break
    sleep 0.05
  done
  kill -"${signal%:*}" $job
  code=0
  wait "$job" || code=$?
  [[ $code == "${signal#*:}" && $(ls stopped.db*) == stopped.db ]] ||
    fail "SIG${signal%:*}: exit code $code, $(ls stopped.db*): $(cat errors.txt)"
  (($(sqlite3 stopped.db 'SELECT COUNT(*) FROM runs') < 36)) || fail 'the job was not interrupted'
  rm stopped.db
done

code=0
ranks 2 no-such-study.json -o none.db >/dev/null 2>errors.txt || code=$?
[[ $code == 2 ]] || fail "exit code $code of a study that is not there"
grep -q 'headroom-mpi: no-such-study' errors.txt || fail "errors: $(cat errors.txt)"
code=0
ranks 2 study.json -o one.db >/dev/null 2>errors.txt || code=$?
[[ $code == 2 ]] || fail "exit code $code of a file that is there already"

# A row of a trace that is wrong fails the runs that read it, as with `headroom sweep`.
printf 'arrival_ns,prompt_tokens,output_tokens\n0,10,5\n1000000000,ten,5\n' >bad.csv
echo '{ "base": { "model": "llama-3.1-8b", "device": "h100-sxm",
    "workload": { "trace": { "file": "bad.csv" } } },
  "vary": [ { "path": "engine.max_num_seqs", "values": [2, 4] } ] }' >trace.json
"$HEADROOM" sweep trace.json -o trace.db >/dev/null || true
contents trace.db >trace.sql
grep -q 'bad.csv:3: ' trace.sql || fail 'the bad row is not named'
for count in 1 3; do
  code=0
  ranks "$count" trace.json -o "trace$count.db" >/dev/null 2>errors.txt || code=$?
  [[ $code == 3 ]] || fail "exit code $code of a bad row, $count ranks: $(cat errors.txt)"
  contents "trace$count.db" | cmp - trace.sql || fail "a bad row, $count ranks"
done
