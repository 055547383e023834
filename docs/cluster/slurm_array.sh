#!/usr/bin/env bash
# A study as a Slurm job array: one shard per task, all cores of its node.
#   sbatch --array=1-8 slurm_array.sh study.json
#   sbatch --dependency=afterany:JOBID --wrap 'headroom merge study.db part*.db'
# A task that was killed goes on where it was when it is submitted again.
#SBATCH --job-name=headroom
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=32
#SBATCH --time=01:00:00
set -euo pipefail
headroom sweep "$1" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  -o "part$SLURM_ARRAY_TASK_ID.db" -j "${SLURM_CPUS_PER_TASK:-1}" --resume
