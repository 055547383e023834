#!/usr/bin/env bash
# Builds the program twice, the second time optimised by what it did in some runs: the same results
# in less time (docs/performance.md). Takes about twice as long as scripts/demo.sh; needs g++.
#   scripts/trained.sh      leaves build/trained/bin/headroom
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" program
cd "$root"
program=build/trained/bin/headroom

build() {
  cmake --preset trained -DHEADROOM_PROFILE="$1" >/dev/null
  cmake --build --preset trained
}

rm -rf build/trained/profile
build record

# What most simulations are: one replica at low and high load, memory that runs out, prompts that
# share prefixes, several replicas, other engines.
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
number=0
train() {
  number=$((number + 1))
  "$program" run "$@" -o "$results/$number" >/dev/null
}
for rate in 9.5 22.3 28.6; do
  train chat-million --set workload.num_requests=20000 --set workload.arrivals.request_rate=$rate
done
train chat-million --set workload.num_requests=10000 --set workload.arrivals.request_rate=14 \
  --set engine.num_gpu_blocks_override=2773 --set workload.prompt.max=8000 \
  --set engine.max_model_len=12288
for engine in trtllm sglang tgi; do
  train chat-million --set engine=$engine --set workload.num_requests=5000
done
train fleet-chat
train chat-sessions
train rag

build use
echo "Program:  $root/$program"
