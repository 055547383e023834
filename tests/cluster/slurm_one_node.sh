#!/usr/bin/env bash
# The files of docs/cluster under a Slurm of one node: a job array and its merge, an array that was
# cancelled and submitted again, and an MPI job give the contents of `headroom sweep`. No part of
# ctest: it needs root, starts daemons of its own (ports and folders too) and ends them.
#   apt-get install --no-install-recommends slurmctld slurmd slurm-client munge
#   tests/cluster/slurm_one_node.sh [PROGRAM]      the program; headroom-mpi lies beside it
# Exits with 77 when Slurm is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(realpath "${1:-$root/build/release/bin/headroom}")
for tool in munged slurmctld slurmd sbatch srun squeue scancel sqlite3; do
  if ! PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null; then
    echo "skipped: $tool is missing (slurmctld, slurmd, slurm-client, munge, sqlite3)"
    exit 77
  fi
done
if [[ $(id -u) != 0 ]]; then
  echo 'skipped: slurmd has to run as root'
  exit 77
fi
PATH=$(dirname "$program"):$PATH:/usr/sbin

fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "$work"/slurm/*.log >&2 || true
  exit 1
}

work=$(mktemp -d)
daemons=()
stop() {
  local daemon
  for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
  for daemon in "${daemons[@]}"; do wait "$daemon" 2>/dev/null || true; done
  rm -rf "$work"
}
trap stop EXIT

start() { # start NAME COMMAND...: a daemon in the foreground of this shell's job
  local name=$1
  shift
  "$@" >"$work/slurm/$name.out" 2>&1 &
  daemons+=($!)
}

chmod 755 "$work"
mkdir -p "$work"/slurm/{state,spool} "$work/munge"
chmod 755 "$work/munge"
dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
chmod 400 "$work/munge/key"
start munged munged --foreground --force --key-file="$work/munge/key" \
  --socket="$work/munge/socket" --pid-file="$work/munge/pid" --log-file="$work/munge/log" \
  --seed-file="$work/munge/seed"

node=$(hostname -s)
export SLURM_CONF=$work/slurm/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=headroom
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
SlurmctldLogFile=$work/slurm/slurmctld.log
SlurmdLogFile=$work/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=600
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
start slurmctld slurmctld -D
start slurmd slurmd -D -N "$node"

wait_for() { # wait_for SECONDS TEXT COMMAND...: until the command succeeds
  local end=$((SECONDS + $1)) text=$2
  shift 2
  until "$@" 2>/dev/null; do
    ((SECONDS < end)) || fail "$text"
    sleep 0.3
  done
}
node_is_idle() { sinfo --noheader --format=%t | grep -qx idle; }
left_queue() { [[ -z $(squeue --noheader --jobs="$1" 2>/dev/null) ]]; }
contents() { sqlite3 "$1" .dump; }
submit() { sbatch --parsable --output='job%j.txt' "$@"; }
wait_for 30 'the node does not come up' node_is_idle
echo "Slurm $(sbatch --version | cut -d' ' -f2) on $(nproc) CPUs"

mkdir "$work/study"
cd "$work/study"
headroom sweep rate-curve -o whole.db >/dev/null
contents whole.db >whole.sql
cat >study.json <<'JSON'
{
  "name": "rate-curve",
  "base": "demo",
  "vary": [
    { "path": "workload.num_requests", "values": [20000] },
    { "path": "workload.arrivals.request_rate", "range": { "from": 1, "to": 16, "step": 1 } }
  ],
  "replications": 4
}
JSON
headroom sweep study.json -o long.db >/dev/null
contents long.db >long.sql

array() { submit --array=1-8 --cpus-per-task=1 "$root/docs/cluster/slurm_array.sh" "$1"; }
merge_after() { # the second line of slurm_array.sh's header
  submit --dependency="afterany:$1" --wrap "headroom merge $2 part*.db"
}
same() { # same DATABASE DUMP WHAT
  [[ -e $1 ]] || fail "$3: no $1: $(cat job*.txt)"
  contents "$1" | cmp - "$2" || fail "$3 differs from one process"
  echo "same contents: $3"
}

job=$(array rate-curve)
merge=$(merge_after "$job" study.db)
wait_for 120 'the array does not end' left_queue "$job,$merge"
same study.db whole.sql 'a job array of 8 and its merge'
rm part*.db

# Cancelled on the way, submitted again: each task goes on where it was.
job=$(array study.json)
# While a task writes, its file is locked; what it stored is in the write-ahead log.
some_are_stored() { (($(stat -c %s part2.db-wal) > 100000)); }
wait_for 60 'nothing was stored' some_are_stored
scancel "$job"
wait_for 60 'the array was not cancelled' left_queue "$job"
stored=0
for part in part*.db; do
  stored=$((stored + $(sqlite3 "$part" 'SELECT COUNT(*) FROM runs')))
done
((stored > 0 && stored < 64)) || fail "$stored of 64 runs when it was cancelled"
job=$(array study.json)
merge=$(merge_after "$job" merged.db)
wait_for 300 'the second array does not end' left_queue "$job,$merge"
same merged.db long.sql "an array cancelled with $stored of 64 runs and submitted again"

if ! [[ -x $(dirname "$program")/headroom-mpi ]]; then
  echo 'skipped: headroom-mpi is missing'
elif ! srun --mpi=list 2>&1 | grep -q pmix; then
  echo 'skipped: this Slurm has no PMIx'
else
  job=$(submit --nodes=1 --ntasks-per-node="$(nproc)" "$root/docs/cluster/slurm_mpi.sh" \
    rate-curve mpi.db)
  wait_for 120 'the MPI job does not end' left_queue "$job"
  grep -q "^75 of 75 runs, 0 failed, $(nproc) ranks" "job$job.txt" || fail "$(cat "job$job.txt")"
  same mpi.db whole.sql "an MPI job of $(nproc) ranks"
fi
