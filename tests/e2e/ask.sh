#!/usr/bin/env bash
# `ask`: one question about a command line, a compose file, a scenario or a system by its names; the
# exit code says whether it holds; bad input is refused at its place.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# answer CODE FILE ARGUMENTS...: the exit code, the answer in FILE.
answer() {
  local wanted=$1 file=$2 code=0
  shift 2
  "$HEADROOM" ask "$@" >"$file" 2>stderr.txt || code=$?
  [[ $code == "$wanted" ]] ||
    fail "exit code $code instead of $wanted: $*: $(cat stderr.txt "$file")"
  [[ ! -s stderr.txt ]] || fail "beside the answer: $(cat stderr.txt)"
}

# A command behind --, with its own flags, and the same in one word.
answer 0 words.txt --rate 1 --in 1000 --out 100 --slo p99_ttft=5s --device h100-sxm \
  -- vllm serve Qwen/Qwen2.5-14B-Instruct --max-num-seqs 64
head -n 1 words.txt | grep -qE '^HOLDS: p99 TTFT is .*, below 5.00 s$' || fail "$(cat words.txt)"
answer 0 quoted.txt 'vllm serve Qwen/Qwen2.5-14B-Instruct --max-num-seqs 64' --rate 1 --in 1000 \
  --out 100 --slo p99_ttft=5s --device h100-sxm
cmp words.txt quoted.txt || fail 'a quoted command is answered otherwise'
grep -qE '^headroom +up to [0-9.]+ requests/s; beyond that ' words.txt ||
  fail "no headroom: $(cat words.txt)"
grep -qE '^users +up to [0-9,]+ at a time' words.txt || fail "no users: $(cat words.txt)"
grep -qE '^context +' words.txt || fail "no context: $(cat words.txt)"

# Several engines in several environments: a line each.
answer 0 engines.txt --model qwen3-8b --device l40s --engine vllm,sglang \
  --environment native,docker --rate 1 --in 500 --out 50
grep -qE '^ *qwen3-8b +1 x l40s +vllm [0-9.]+ +native +HOLDS' engines.txt ||
  fail "$(cat engines.txt)"
grep -qE '^ *qwen3-8b +1 x l40s +sglang [0-9.]+ +docker +HOLDS' engines.txt ||
  fail "$(cat engines.txt)"
grep -qE ' sglang [0-9.]+: SGLang' engines.txt || fail "no note of one engine: $(cat engines.txt)"
# What one of them alone answers is its line.
answer 0 engine.txt --model qwen3-8b --device l40s --engine sglang --environment docker --rate 1 \
  --in 500 --out 50
most=$(sed -nE 's/^headroom +up to ([0-9.]+) requests.*/\1/p' engine.txt)
grep -qE "sglang .* docker +HOLDS +$most requests/s" engines.txt || fail "$most: $(cat engines.txt)"

expect_error '--environment dokcer: /environment/name: unknown environment' "$HEADROOM" ask \
  --model qwen3-8b --device l40s --rate 1 --environment dokcer
expect_error '--engine: expected a name' "$HEADROOM" ask --model qwen3-8b --device l40s --engine ,

expect_error '--in: is a flag of' "$HEADROOM" ask --device l40s -- vllm serve Qwen/Qwen3-8B --in 10
expect_error '--slo: value p95_tpot=50ms: is a target of its own' "$HEADROOM" ask --model qwen3-8b \
  --device l40s --slo p99_ttft=2s p95_tpot=50ms
# A command without a parallel size, on several devices.
answer 0 split.txt --device 2xl40s --rate 1 -- vllm serve Qwen/Qwen3-8B
grep -q '^assumed  *tensor_parallel_size 2, for the 2 devices' split.txt || fail "$(cat split.txt)"
# Nobody waits for a minute.
answer 0 long.txt --model qwen3-8b --device l40s --users 20000 --in 1000 --out 200
head -n 1 long.txt | grep -q '^TIGHT: the engine keeps up, but no targets are set' ||
  fail "$(cat long.txt)"
# max_tokens as long as the answer, without a factor.
answer 0 declared.txt --model qwen3-8b --device l40s --rate 1 \
  --set workload.max_tokens.rule=times_output

# A model whose row of the catalog says that it makes vectors, whatever its name.
answer 0 vectors.txt --model e5-mistral-7b --device l40s --rate 1 --in 500
grep -q 'a vector out' vectors.txt || fail "$(cat vectors.txt)"

# Too much, with what to change; one thread or two.
answer 4 much.json --rate 300 --in 3000 --out 400 --slo p99_ttft=2s --device l40s --json -j 1 \
  -- vllm serve meta-llama/Llama-3.1-8B-Instruct
grep -q '"verdict": "does_not_hold"' much.json || fail "$(head -n 5 much.json)"
grep -q '"option": "fleet.replicas"' much.json || fail 'one more replica does not help'
answer 4 two.json --rate 300 --in 3000 --out 400 --slo p99_ttft=2s --device l40s --json -j 2 \
  -- vllm serve meta-llama/Llama-3.1-8B-Instruct
cmp much.json two.json || fail '-j 1 and -j 2 differ'

# The largest rate that is said holds, and 4 % more does not.
rate=$(sed -n '/"largest_load"/,/}/s/.*"largest": \([0-9.]*\),/\1/p' much.json)
more=$(awk -v rate="$rate" 'BEGIN { print 1.04 * rate }')
ask_rate() {
  answer "$1" again.txt --rate "$2" --in 3000 --out 400 --slo p99_ttft=2s --device l40s \
    -- vllm serve meta-llama/Llama-3.1-8B-Instruct
}
ask_rate 0 "$rate"
ask_rate 4 "$more"

# Engines of one compose file: each beside those that start before it, or one of them.
cat >two.yaml <<'YAML'
services:
  first:
    image: vllm/vllm-openai:v0.19.0
    command: --model Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.5
  second:
    image: vllm/vllm-openai:v0.19.0
    command: --model Qwen/Qwen2.5-7B-Instruct --max-model-len 8192
    depends_on: [first]
YAML
answer 4 two.txt two.yaml --device l40s --rate 1 --in 500 --out 50
grep -qE '^ *first .* HOLDS ' two.txt || fail "$(cat two.txt)"
grep -qE '^ *second .* DOES NOT START ' two.txt || fail "$(cat two.txt)"
answer 4 both.txt two.yaml --device l40s --rate 1 --in 500 --out 50 --set engine.max_num_seqs=8
grep -q -- '--set engine.max_num_seqs=8: of all 2 services' both.txt || fail "$(cat both.txt)"
expect_error '--environment: value native, docker: expected one' "$HEADROOM" ask two.yaml \
  --device l40s --rate 1 --environment native,docker
# More users than have room at full length, of whom few are at full length.
answer 0 room.txt --model llama-3.1-8b --device h100-sxm --users 256 --in 1024 --out 1024
grep -q 'then the KV pool is full; all users had' room.txt || fail "$(cat room.txt)"
answer 0 wait.txt --model llama-3.1-8b --device h100-sxm --users 400 --in 1024 --out 1024
grep -q 'then the KV pool is full: the other' wait.txt || fail "$(cat wait.txt)"
grep -q 'second: of its device the services before it hold: first' two.txt || fail "$(cat two.txt)"
answer 0 fits.txt two.yaml --device l40s,l4 --rate 1 --in 500 --out 50 \
  --set second:engine.gpu_memory_utilization=0.4
[[ $(grep -cE 'l(40s|4): second: of its device the services before' fits.txt) == 2 ]] ||
  fail "not of each device: $(cat fits.txt)"
# From standard input as from the file.
code=0
"$HEADROOM" ask - --device l40s --rate 1 --in 500 --out 50 <two.yaml >piped.txt || code=$?
[[ $code == 4 ]] || fail "standard input: $code: $(cat piped.txt)"
cmp <(sed 1q two.txt) <(sed 1q piped.txt) || fail "$(cat piped.txt)"
# What is set for another service does not reach this one.
"$HEADROOM" from two.yaml --service second --set first:engine.max_num_seqs=7 >second.json
! grep -q 'first:' second.json || fail "$(cat second.json)"
answer 4 second.txt two.yaml --service second --device l40s --rate 1 --in 500 --out 50
grep -q 'DOES NOT START: free memory' second.txt || fail "$(cat second.txt)"
expect_error '--service' "$HEADROOM" ask demo --service chat
# A number of devices is the host's; what is set by hand for a service is not left out.
sed 's/first:$/&\n    environment: {CUDA_VISIBLE_DEVICES: "1"}/' two.yaml >cards.yaml
answer 0 cards.txt cards.yaml --device 2xl40s --rate 1 --in 500 --out 50 \
  --set second:engine.gpu_memory_utilization=0.9
grep -qE '^ *second .* 1 x l40s .* HOLDS ' cards.txt || fail "$(cat cards.txt)"
expect_error 'services/first: value 1: sees this GPU, and --device gives the host 1' \
  "$HEADROOM" ask cards.yaml --device 1xl40s --rate 1
expect_error 'unknown model' "$HEADROOM" ask two.yaml --service second --device l40s \
  --set first:model=no-such-model

# Where it does not start for its longest request, a shorter one is among the changes: also for
# users without targets.
long=(--model qwen3-32b --device h100-sxm --engine vllm@0.19 --users 4 --in 2000 --out 300)
answer 4 long.txt "${long[@]}" --slo p99_ttft=5s
grep -q 'engine.max_model_len 40960 -> 28544: holds' long.txt || fail "$(cat long.txt)"
answer 4 long.txt "${long[@]}"
grep -q 'engine.max_model_len 40960 -> 28544: holds' long.txt || fail "$(cat long.txt)"

# Names of other tools, engines and devices as people write them.
answer 0 words.txt --model qwen3-8b --gpu H100 --engine vLLM --qps 1 --isl 1000 --osl=200 \
  --slo 'p99 TTFT < 2s'
grep -q '^asked       1 requests/s, 1,000 tokens in, 200 tokens out' words.txt ||
  fail "$(cat words.txt)"
tr -s ' \n' ' ' <words.txt |
  grep -q 'device H100 is read as h100-sxm; also called so: h100-nvl, h100-pcie' ||
  fail "$(cat words.txt)"
expect_error '--qps: no option of capacity' \
  "$HEADROOM" capacity --model qwen3-8b --device h100 --qps 1
# A value that the engine does not know either.
answer 0 slip.txt --device l40s --rate 1 -- vllm serve Qwen/Qwen3-8B --quantization gptq9
head -n 1 slip.txt | grep -q '^TIGHT: may not start: no --quantization gptq9 is known here' ||
  fail "$(cat slip.txt)"
# Room for the answers that clients declare, and what it would be without.
answer 0 room.txt --model llama-3.1-8b --device h100-sxm --engine trtllm --users 4
grep -q 'workload.max_tokens.rule=engine_default' room.txt || fail "$(cat room.txt)"
# What the line says can be done.
"$HEADROOM" ask --model llama-3.1-8b --device h100-sxm --engine trtllm --users 4 \
  --set workload.max_tokens.rule=engine_default >open.txt || [[ $? == 4 ]] || fail "$(cat open.txt)"
grep -q 'clients declare' open.txt && fail "$(cat open.txt)"
printf 'time_s,input,output\n0,500,50\n1,600,60\n2,700,40\n' >declared.csv
"$HEADROOM" ask --model llama-3.1-8b --device h100-sxm --engine trtllm --trace declared.csv \
  --set workload.max_tokens.rule=engine_default >open.txt || [[ $? == 4 ]] || fail "$(cat open.txt)"

# Limits of a scenario are targets like those of --slo.
"$HEADROOM" init --model llama-3.1-8b --device h100-sxm --rate 1 --in 500 --out 50 \
  --slo p99_ttft=5s,mean_tpot=100ms -o limited.yaml >/dev/null
grep -qE 'p99_ttft_ms: 5000' limited.yaml || fail "$(cat limited.yaml)"
answer 0 limited.txt limited.yaml
head -n 1 limited.txt | grep -q '^HOLDS: mean TPOT is .*, below 100 ms$' ||
  fail "$(cat limited.txt)"
"$HEADROOM" run limited.yaml --json >run.json
grep -q '"reason": ".*mean TPOT is ' run.json || fail "$(grep reason run.json)"

# A compose file, a scenario, names; a question kept as a scenario.
cat >compose.yaml <<'YAML'
services:
  llm:
    image: vllm/vllm-openai:v0.19.0
    command: --model meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192
YAML
answer 0 compose.txt compose.yaml --device rtx4090 --users 2 --in 500 --out 50 --save kept.json \
  --slo p99_ttft=5s
grep -q '"p99_ttft_ms": 5000' kept.json || fail "the target is lost: $(cat kept.json)"
grep -q '^next .*headroom run kept.json' compose.txt || fail "$(cat compose.txt)"
"$HEADROOM" check kept.json >/dev/null || fail 'what is kept is no scenario'
small_scenario >small.json
answer 0 scenario.txt small.json
grep -q '^next .*headroom run small.json' scenario.txt || fail "$(cat scenario.txt)"
answer 4 slower.txt small.json --slo mean_tpot=1ms
answer 4 start.txt --model llama-3.3-70b --device a100-80
head -n 1 start.txt | grep -q '^DOES NOT START: ' || fail "$(cat start.txt)"
grep -q 'engine.tensor_parallel_size 1 -> 4: ' start.txt || fail "what starts: $(cat start.txt)"
answer 0 table.txt --model llama-3.1-8b --device h100-sxm,2x4090,l4 --rate 1 --in 500 --out 50
[[ $(grep -cE 'llama-3.1-8b +[12] x ' table.txt) == 3 ]] ||
  fail "no line for each device: $(cat table.txt)"
grep -q ' llama-3.1-8b on 2 x rtx4090: ' table.txt || fail "$(cat table.txt)"
# What the single answers say, once for all that say the same.
grep -qE 'llama-3.1-8b +1 x h100-sxm .* others *$' table.txt || fail "$(cat table.txt)"
grep -qE '^accuracy +.*h100-sxm.*: measured mean TTFT' table.txt || fail "$(cat table.txt)"
grep -q '^warning ' table.txt || fail "$(cat table.txt)"
answer 0 spaced.txt --model llama-3.1-8b --device '2 x RTX 4090' --rate 1 --in 500 --out 50
grep -q 'on 2 x rtx4090' spaced.txt || fail "$(cat spaced.txt)"
answer 0 formats.txt --model qwen3-8b,Qwen/Qwen3-8B-FP8 --device l40s --rate 1 --in 500 --out 50
grep -qE '^ *model +weights +devices' formats.txt || fail "$(cat formats.txt)"

# All replicas are named.
answer 0 replicas.txt demo --set fleet.replicas=3 --set workload.num_requests=500
grep -q '^system  *llama-3.1-8b on 3 replicas of h100-sxm' replicas.txt ||
  fail "$(cat replicas.txt)"

# Variants of one model are told apart.
answer 0 variants.txt --model qwen3-32b,qwen3-32b:q4_k_m --device 2xh100-sxm --rate 1
for name in qwen3-32b qwen3-32b:q4_k_m; do
  grep -qE "^ +$name +(bf16|q4_k_m) +2 x h100-sxm +HOLDS" variants.txt || fail "$(cat variants.txt)"
  grep -q " $name on 2 x h100-sxm: " variants.txt || fail "$(cat variants.txt)"
done

# Without targets any wait is accepted, if tightly beyond a minute: the answer names it, and what
# memory and throughput carry.
open=(--users 300 --in 4000 --out 200)
answer 0 open.txt --model llama-3.1-8b --device l40s "${open[@]}"
tr -s '\n ' ' ' <open.txt >line.txt
waits='no targets are set \(--slo\): mean TTFT [0-9.]+ m?s, p99 .* tokens/s'
grep -qE "^TIGHT: .* $waits" line.txt || fail "$(cat open.txt)"
grep -qE ' headroom up to [0-9.]+ requests/s from any number of users' line.txt ||
  fail "$(cat open.txt)"
grep -qE ' at once [0-9]+ requests of this length, .*: the other users wait' line.txt ||
  fail "$(cat open.txt)"
grep -q ' targets none, ' line.txt || fail "$(cat open.txt)"
answer 0 rows.txt --model llama-3.1-8b --device l40s,h100-sxm "${open[@]}"
[[ $(grep -cE '(HOLDS|TIGHT) +[0-9.]+ requests/s +[0-9]+ ' rows.txt) == 2 ]] ||
  fail "$(cat rows.txt)"

# The answer in a file, by its name.
answer 0 shown.txt small.json -o kept.md
grep -q '^\*\*HOLDS\*\*: ' kept.md || fail "$(cat kept.md)"
[[ $(grep -c '^```' kept.md) == 2 ]] || fail "$(cat kept.md)"
tail -n 1 shown.txt | grep -qFf - kept.md || fail "$(cat kept.md)"
answer 0 shown.txt --model llama-3.1-8b --device h100-sxm,l4 --rate 1 -o kept.md
grep -qE '^ +model .*verdict' kept.md || fail "$(cat kept.md)"
answer 0 shown.json small.json --json
answer 0 shown.txt small.json -o kept-answer.json
cmp shown.json kept-answer.json || fail 'another answer in the file than --json prints'
grep -q '^HOLDS' shown.txt || fail 'the answer is not shown as well'

# llama.cpp divides layers among cards, and a batch goes through them in turn.
answer 0 cards.json --model qwen3-32b:q4_k_m --device 2x4090 --engine llamacpp --users 1 \
  --set engine.ctx_size=8192 --json
[[ $(number cards.json devices) == 2 ]] || fail "$(head -n 12 cards.json)"
grep -q 'goes through the layers of 2 devices' cards.json || fail 'how stages work is not said'

# Users of llama.cpp's shared cells do not wait for each other: no context is set aside.
answer 0 shared.json --model qwen3-32b:q4_k_m --device 2x4090 --engine llamacpp --users 2 \
  --in 2000 --out 300 --json
[[ $(number shared.json simulated_ms | cut -d . -f 1) -lt 2000 ]] ||
  fail "$(grep -A 3 ttft shared.json)"

# A model that makes vectors writes no answers.
answer 0 vectors.txt --model qwen3-embedding-4b --device 4090 --rate 1
grep -q ', a vector out$' vectors.txt || fail "$(cat vectors.txt)"
grep -q '^assumed *qwen3-embedding-4b makes vectors' vectors.txt || fail "$(cat vectors.txt)"
tr -s '\n ' ' ' <vectors.txt | grep -q ' targets none, .* --slo p99_ttft=500ms: the vector ' ||
  fail "$(cat vectors.txt)"
! grep -qi 'tpot' vectors.txt || fail "$(cat vectors.txt)"
expect_error 'makes vectors of prompts' "$HEADROOM" ask --model qwen3-embedding-4b --device 4090 \
  --rate 1 --out 20

# An own trace, in every command that takes one.
printf 'ts;frage;antwort\n0;500;50\n400;600;40\n800;300;30\n' >own.csv
answer 0 trace.txt small.json --trace own.csv --columns time=ts:ms,in=frage,out=antwort
grep -q 'columns: in = frage, out = antwort, time = ts (ms)' trace.txt || fail "$(cat trace.txt)"
"$HEADROOM" run small.json --trace own.csv --columns time=ts:ms,in=frage,out=antwort --json \
  >run.json
[[ $(number run.json arrived) == 3 ]] || fail 'run reads another trace'
"$HEADROOM" compare small.json --set-b engine.max_num_seqs=1 --trace own.csv \
  --columns time=ts:ms,in=frage,out=antwort >pair.txt
grep -qF 'pairs       one: the same recorded requests' pair.txt || fail "$(cat pair.txt)"

# The model of `ollama serve`, and nothing that still asks for it.
answer 0 served.txt --device rtx4090 --users 1 --set model=llama3.1:8b -- ollama serve
! grep -q 'model is not named' served.txt || fail "$(cat served.txt)"

# No engine for the device at all, and one that may run there.
answer 4 none.txt --model llama-3.1-8b --device mi300x --engine trtllm --rate 1
head -n 1 none.txt | grep -q '^DOES NOT START: trtllm runs on NVIDIA devices only' ||
  fail "$(cat none.txt)"
answer 0 tag.txt --model llama3.2 --device rtx4090 --engine ollama --users 1
grep -q '^system *llama-3.2-3b on rtx4090' tag.txt || fail "$(cat tag.txt)"

# Where nothing stops the load: no target counts the wait, or there are too few requests.
answer 0 any.txt --model llama-3.1-8b --device l40s --rate 1 --slo p95_tpot=9s
grep -q '^users *any number: the targets do not count' any.txt || fail "$(cat any.txt)"
answer 0 short.txt --model llama-3.1-8b --device l40s --rate 1 --set workload.num_requests=10
grep -q '^headroom *not found: .* hold' short.txt || fail "$(cat short.txt)"

# What would not start, whatever its memory; what was meant; how a container is started.
answer 4 few.txt --rate 1 --device l40s \
  -- CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 4
head -n 1 few.txt | grep -q '^DOES NOT START: CUDA_VISIBLE_DEVICES gives 2 ' ||
  fail "$(cat few.txt)"
answer 0 slip.txt --rate 1 --device l40s -- vllm serve Qwen/Qwen2.5-7B-Instruct --max-modl-len 8k
tr '\n' ' ' <slip.txt | grep -q '^TIGHT: may not start: vLLM refuses flags .* no --max-modl-len ' ||
  fail "$(cat slip.txt)"
grep -q 'nearest known flag is --max-model-len' slip.txt || fail "$(cat slip.txt)"
answer 4 ms.txt small.json --slo mean_tpot=1
grep -q '^assumed *mean_tpot=1 is taken as 1 ms; write 1s for seconds' ms.txt ||
  fail "$(cat ms.txt)"
answer 0 host.txt --rate 1 --device l40s \
  -- docker run --ipc=host vllm/vllm-openai:v0.19.0 --model Qwen/Qwen2.5-7B-Instruct -tp 2
grep -q '/dev/shm is limited' host.txt && fail "$(cat host.txt)"

# vLLM does not run on Apple's devices: an engine that does is taken, unless one is named.
answer 0 mac.txt --model llama-3.1-8b --device m4-max --users 2
grep -q 'engine llamacpp' mac.txt && grep -q 'assumed  *engine llamacpp on m4-max' mac.txt ||
  fail "$(cat mac.txt)"
"$HEADROOM" ask --model llama-3.1-8b --device m4-max --users 2 --engine vllm >mac.txt
grep -q 'engine vllm' mac.txt || fail "$(cat mac.txt)"
"$HEADROOM" ask --model llama-3.1-8b --device M4-Max --users 2 --set engine=vllm >mac.txt
grep -q 'engine vllm' mac.txt && ! grep -q 'engine llamacpp' mac.txt || fail "$(cat mac.txt)"
for two in '--device 2xm4-max' '--device m4-max --devices 2'; do
  # shellcheck disable=SC2086 # several words
  answer 0 mac.txt --model llama-3.1-8b $two --users 2
  grep -q 'on 2 x m4-max, engine llamacpp' mac.txt || fail "$(cat mac.txt)"
done

# Bad input.
expect_error 'name a system' "$HEADROOM" ask --rate 5
expect_error '--device' "$HEADROOM" ask 'vllm serve meta-llama/Llama-3.1-8B-Instruct'
expect_error '--slo' "$HEADROOM" ask small.json --slo ttft=2s
expect_error 'mean_itl_ms' "$HEADROOM" ask small.json --slo mean_itl=20ms --save itl.json
expect_error '(tensor_parallel_size x pipeline_parallel_size)' "$HEADROOM" ask --device 2xh100-sxm \
  'vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 4'
expect_error 'expected one of' "$HEADROOM" ask small.json --slo p99_tfft=2s
expect_error '--rate' "$HEADROOM" ask small.json --rate 0
expect_error '--rate: value nan: expected a number above 0' "$HEADROOM" ask small.json --rate nan
expect_error '--device: value 0xl40s' "$HEADROOM" ask --model llama-3.1-8b --device 0xl40s
expect_error '--save: keeps one system, and these are 2' "$HEADROOM" ask \
  --model llama-3.1-8b,qwen3-8b --device l40s --save both.json
expect_error '--in: value 3,000: expected one length' "$HEADROOM" ask small.json --in 3,000
expect_error '--rate: is given more than once' "$HEADROOM" ask small.json --rate 1 --rate 2
expect_error '--rate' "$HEADROOM" ask small.json --rate 1 --users 2
expect_error '--in' "$HEADROOM" ask small.json --in 1k,2k
expect_error '--context many' "$HEADROOM" ask small.json --context many
expect_error 'm4-pro-24, m4-pro-48, m4-pro-64' \
  "$HEADROOM" ask --model llama-3.1-8b --device 'M4 Pro'
expect_error '--users 2.5: expected a whole number' "$HEADROOM" ask small.json --users 2.5
expect_error '--rate five: expected a number' "$HEADROOM" ask small.json --rate five
expect_error '--devices: value 0: expected at least 1' "$HEADROOM" ask --model llama-3.1-8b \
  --device l40s --devices 0
expect_error '.json or .md' "$HEADROOM" ask small.json -o answer.html
expect_error '--users: its value is missing' "$HEADROOM" ask small.json --users
expect_error 'give it as --model llama-3.1-8b' "$HEADROOM" ask llama-3.1-8b --device l40s
expect_error 'no column holds the tokens of' "$HEADROOM" ask small.json --trace own.csv
nothing_left

# Engines count tokens of windows by one group of layers; a uniform model has one number.
ask_tokens() {
  "$HEADROOM" ask --device h100-sxm --engine vllm --set engine.version=0.19 "$@" || :
}
ask_tokens --model gemma-3-12b >logged.txt
grep -q "in the engine's" logged.txt || fail "$(cat logged.txt)"
ask_tokens --model qwen3-8b >logged.txt
! grep -q "in the engine's" logged.txt || fail "$(cat logged.txt)"
