#!/usr/bin/env bash
# Every mistake of a user is one line that names file and place, with exit code 2; nothing is
# written.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
run() { "$HEADROOM" run small.json "$@"; }

# Scenario files
expect_error 'no-such: no such file, and no built-in scenario' "$HEADROOM" run no-such
expect_error '(nearest: demo)' "$HEADROOM" run dem0
printf '{"seed": 1,\n "seed": 2}' >duplicate.json
expect_error 'duplicate.json: /seed: duplicate key' "$HEADROOM" run duplicate.json
printf '{"seed": 1,\n "model" 2}' >syntax.json
expect_error 'syntax.json:2:10: not valid JSON' "$HEADROOM" run syntax.json
: >empty.json
expect_error 'empty.json:1:1: not valid JSON' "$HEADROOM" run empty.json
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >lfs.json
expect_error 'lfs.json: cannot read: a git-lfs pointer' "$HEADROOM" run lfs.json
expect_error 'Is a directory' "$HEADROOM" run .
if [[ $EUID != 0 ]]; then
  cp small.json unreadable.json && chmod 0 unreadable.json
  expect_error 'unreadable.json: cannot read: Permission denied' "$HEADROOM" run unreadable.json
fi

# Values
expect_error '/engine/max_num_seq: unknown key (nearest: max_num_seqs)' \
  run --set engine.max_num_seq=1
expect_error '/engine/max_num_seqs: value "many": expected integer' \
  run --set engine.max_num_seqs=many
expect_error '/workload/arrivals/request_rate: value -2: expected number > 0' \
  run --set workload.arrivals.request_rate=-2
expect_error '/workload/arrivals/request_rate: value "nan": expected number' \
  run --set workload.arrivals.request_rate=nan
expect_error '/model: ' run --set model=llama-3.1-8
expect_error 'llama-3.1-8b' run --set model=llama-3.1-8
expect_error '/device/name: ' run --set device=m1
expect_error '/engine/tensor_parallel_size: ' run --set engine.tensor_parallel_size=7
expect_error '--set seed: expected path=value' run --set seed
expect_error '/cost/calibration' run --set cost.calibration=no-such

# Flags
expect_error 'command line: --no-such-flag: no option of run' "$HEADROOM" run small.json \
  --no-such-flag
expect_error '--jsno: no option of run (nearest: --json) (see headroom run --help)' \
  "$HEADROOM" run small.json --jsno
expect_error '--seed: no option of run; scenarios have it: --set seed=3' \
  "$HEADROOM" run small.json --seed 3
expect_error '--set engine.max_num_seqs=8' "$HEADROOM" run small.json --max-num-seqs=8
expect_error 'scenarios have it: --set workload.arrivals.request_rate=5 ' \
  "$HEADROOM" run small.json --rate 5
expect_error '--max-replicas: no option of fleet plan; plans have it: --set max_replicas=9 ' \
  "$HEADROOM" fleet plan chat-fleet --max-replicas 9
expect_error '--max-num-seqs: no option of fleet plan (see' \
  "$HEADROOM" fleet plan chat-fleet --max-num-seqs 8
expect_error '--vresion: no option of headroom (nearest: --version)' "$HEADROOM" --vresion
expect_error 'fleet paln: expected plan' "$HEADROOM" fleet paln
expect_error 'fleet: expected plan' "$HEADROOM" fleet
expect_error 'trace chek: expected one of describe, convert, check (nearest: check)' \
  "$HEADROOM" trace chek
expect_error 'expected one of describe, convert, check: headroom trace describe chat.csv' \
  "$HEADROOM" trace chat.csv
expect_error 'run: scenario is missing' "$HEADROOM" run
expect_error '--config no.yaml: file not found' \
  "$HEADROOM" ask --device l40s 'vllm serve --config no.yaml'
expect_error "-c: value '32k': a whole number in digits, as 32768" \
  "$HEADROOM" from 'llama-server -m gemma3-4b.gguf -c 32k'
expect_error 'demo: one scenario: say what changes (--set-b' "$HEADROOM" compare demo
expect_error '(nearest: fleet plan)' "$HEADROOM" plan
expect_error 'demo: a scenario, where a study is expected' "$HEADROOM" sweep demo
expect_error 'list kinds: expected one of' "$HEADROOM" list kinds
expect_error '--until' run --until -1
mkdir no-catalog
expect_error 'no-catalog' run --catalog no-catalog

# Traces
expect_error 'no-such.csv' run --trace no-such.csv
header=TIMESTAMP,ContextTokens,GeneratedTokens
printf '%s\n' $header '2023-11-16 18:17:03.97,10,5' '2023-11-16 18:17:04,x,5' >bad.csv
expect_error 'bad.csv:3' run --trace bad.csv
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >lfs.csv
expect_error 'git-lfs' run --trace lfs.csv

# Bytes that are no UTF-8
printf 'INFO Initializing a V1 LLM engine (v0.9.1)\nINFO model \xff\n' >latin.log
expect_error 'latin.log:2: byte 0xff is not UTF-8' "$HEADROOM" audit latin.log
expect_error 'latin.log:2: byte 0xff is not UTF-8' "$HEADROOM" from latin.log
expect_error 'latin.log:2: byte 0xff is not UTF-8' "$HEADROOM" audit --series latin.log
mkdir -p latin/h100
printf 'stage_id,model\n\xff,x\n' >latin/h100/stages.csv
expect_error 'stages.csv:2: byte 0xff is not UTF-8' "$HEADROOM" validate runs latin --json
printf '{"model_type": "\xff"}' >latin.json
expect_error 'latin.json:1: byte 0xff is not UTF-8' \
  "$HEADROOM" capacity --model latin.json --device h100-sxm
expect_error 'unknown model' "$HEADROOM" capacity --model $'\xff' --device h100-sxm --json

# A model that nobody knows: how to bring it
for command in 'ask --model acme/Own-9B --device l4' 'capacity --model acme/Own-9B --device l4' \
  'run demo --set model=acme/Own-9B' 'ask --device l4 -- vllm serve acme/Own-9B'; do
  # shellcheck disable=SC2086 # words
  expect_error 'your own: --set model=PATH of a folder' "$HEADROOM" $command
done
"$HEADROOM" from 'vllm serve acme/Own-9B' >own.txt
grep -q 'acme/Own-9B is not in the catalog (your own: --set model=PATH' own.txt ||
  fail "$(cat own.txt)"
"$HEADROOM" from 'vllm serve Qwen/Qwen3-8B' >own.txt
if grep -q 'your own' own.txt; then fail "$(cat own.txt)"; fi

# Devices that are counted twice, or not at all
expect_error 'spread a replica over 4 (engine.tensor_parallel_size x pipeline' \
  "$HEADROOM" run demo --set 'device=2 x 4090' --set engine.tensor_parallel_size=4
expect_error 'asks for no device' "$HEADROOM" capacity --model qwen3-8b --device '0 x RTX 4090'

# Loops of links
mkdir loops
ln -s loop loops/loop
for command in 'validate runs' 'validate memory'; do
  # shellcheck disable=SC2086 # two words
  expect_error 'loops/loop: cannot read: Too many levels' "$HEADROOM" $command loops
done
ln -s models.json loops/models.json
expect_error 'loops/models.json: cannot read: Too many levels' \
  "$HEADROOM" list models --catalog loops
ln -s loop.db loop.db
expect_error 'loop.db: cannot open' "$HEADROOM" merge merged.db loop.db loop.db

# Devices, which have no end
for device in /dev/zero /dev/random; do
  expect_error "$device: cannot read: a device" \
    "$HEADROOM" capacity --model $device --device h100-sxm
  expect_error "$device: cannot read: a device" "$HEADROOM" run $device
  expect_error "$device: cannot read: a device" "$HEADROOM" audit --series $device
done

# Numbers beyond any machine
printf '{"model_type": "llama", "hidden_size": 1e999}' >config.json
expect_error "config.json: not JSON: " "$HEADROOM" capacity --model config.json --device h100-sxm
expect_error '9e+15 requests: their records need' run --set workload.num_requests=9000000000000000
expect_error 'output.streaming=true' run --set workload.num_requests=9000000000000000
pool='engine.num_gpu_blocks_override=20000000000'
run --json --set engine.name=orca --set $pool --set engine.block_size=4096 >orca.json
grep -q '"stop": "startup_oom"' orca.json || fail 'a pool of 1e19 bytes started'
grep -q '"kv_[a-z_]*": -' orca.json && fail 'a negative pool'
rm orca.json

nothing_left

# The flag and the name that were typed, and what is near.
expect_error '--set-b engine.max_num_seqs=-4: /engine/max_num_seqs' \
  "$HEADROOM" compare demo --set-b engine.max_num_seqs=-4
expect_error 'similar: h100-nvl, h100-pcie, h100-sxm' \
  "$HEADROOM" capacity --model llama-3.1-8b --device h1000
expect_error 'similar: l40s' "$HEADROOM" capacity --model llama-3.1-8b --device L4OS

# A server that has loaded no model; a command, or a message that memory ran out, counts for more.
line='time=2026-09-12T10:12:01.123Z level=INFO source=routes.go:1511 msg="server config"'
printf '%s\n%s\n' "$line" "$line" >idle.log
for command in from audit ask; do
  expect_error 'a log of Ollama that says nothing of memory' "$HEADROOM" "$command" idle.log
done
printf '%s\n%s\nvllm serve Qwen/Qwen3-8B\n' "$line" "$line" >start.txt
"$HEADROOM" from start.txt | grep -q '"Qwen/Qwen3-8B"' || fail 'a command below lines of a log'
printf '%s\n%s\ntorch.OutOfMemoryError: CUDA out of memory. %s\n' "$line" "$line" \
  'Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.20 GiB is free.' \
  >short.log
expect_error 'says that memory ran out' "$HEADROOM" from short.log
