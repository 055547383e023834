#!/usr/bin/env bash
# A study as one MPI job under Slurm; rank 0 writes the file.
#   sbatch --nodes=4 slurm_mpi.sh study.json study.db
#SBATCH --job-name=headroom
#SBATCH --ntasks-per-node=32
#SBATCH --time=01:00:00
set -euo pipefail
srun --mpi=pmix headroom-mpi "$1" -o "$2" --resume
