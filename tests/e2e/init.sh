#!/usr/bin/env bash
# `init`: a commented YAML scenario by flags or by questions on a terminal, which every command that
# takes a scenario reads; a file that is there is kept.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$HEADROOM" init --model llama-3.1-8b --device h100-sxm --rate 4 --in 1k --out 100 \
  --slo ttft=2s,tpot=50ms -o chat.yaml >out.txt
grep -q '^chat.yaml written$' out.txt || fail "$(cat out.txt)"
grep -q '^next *headroom run chat.yaml$' out.txt || fail "$(cat out.txt)"
for line in 'name: chat' 'model: llama-3.1-8b  *# of .headroom list models' '  name: vllm' \
  '  # max_num_seqs: [0-9]*  *# ' '    request_rate: 4.0  *# requests per second' \
  '    tokens: 1024  *# or draw them' 'slo:  *# 99 %' '  ttft_ms: 2000.0' '  tpot_ms: 50.0'; do
  grep -qE "^$line" chat.yaml || fail "'$line' is not in: $(cat chat.yaml)"
done
awk 'length > 130 { exit 1 }' chat.yaml || fail 'lines are too long'

# The same as JSON gives the same run.
"$HEADROOM" run chat.yaml --json >yaml.json
cat >chat.json <<'JSON'
{"name": "chat", "model": "llama-3.1-8b", "device": "h100-sxm", "engine": "vllm",
 "workload": {"arrivals": {"request_rate": 4}, "num_requests": 2000,
              "prompt": {"tokens": 1024}, "output": {"tokens": 100}},
 "slo": {"ttft_ms": 2000, "tpot_ms": 50}}
JSON
"$HEADROOM" run chat.json --json >json.json
for metric in completed mean_ttft_ms p99_ttft_ms p99_tpot_ms request_goodput; do
  [[ $(number yaml.json $metric) == "$(number json.json $metric)" ]] || fail "$metric differs"
done

# Every option that is offered in a comment is one.
sed 's/^  # \([a-z_]*: .*\)  #/  \1  #/' chat.yaml >all.yaml
[[ $(grep -c '^  [a-z_]*: ' all.yaml) -gt $(grep -c '^  [a-z_]*: ' chat.yaml) ]] || fail 'no offers'
"$HEADROOM" check all.yaml >/dev/null || fail 'a commented option is refused'

# Read by every command that takes a scenario; a compose file is still one.
"$HEADROOM" ask chat.yaml --json >ask.json
grep -q '"verdict": "holds"' ask.json || fail "$(head -n 4 ask.json)"
"$HEADROOM" audit chat.yaml | grep -q '^verdict' || fail 'audit'
"$HEADROOM" compare chat.yaml chat.json --replications 2 >/dev/null
"$HEADROOM" assert chat.yaml 'oom == 0' >/dev/null
printf 'services:\n  a:\n    image: vllm/vllm-openai:v0.19.0\n    command: --model llama-3.1-8b\n' \
  >compose.yaml
"$HEADROOM" ask compose.yaml --device h100-sxm --rate 1 --json >/dev/null

# Other engines, several devices, users, standard output.
"$HEADROOM" init --model llama-3.3-70b --device 4xh100-sxm --engine sglang --users 8 -o - \
  >users.yaml
grep -q '^  tensor_parallel_size: 4' users.yaml || fail "$(cat users.yaml)"
grep -q '^    users: 8 ' users.yaml || fail "$(cat users.yaml)"
"$HEADROOM" check users.yaml >/dev/null
"$HEADROOM" init --model qwen3-8b --device rtx4090 --engine ollama -o - >ollama.yaml
"$HEADROOM" check ollama.yaml >/dev/null

# What is there stays.
cp chat.yaml before.yaml
expect_error 'chat.yaml: is there' "$HEADROOM" init --model qwen3-8b --device l40s -o chat.yaml
cmp chat.yaml before.yaml || fail 'replaced silently'
"$HEADROOM" init --model qwen3-8b --device l40s -o chat.yaml --force >/dev/null
grep -q '^model: qwen3-8b' chat.yaml || fail '--force does not replace'

# Bad input leaves nothing.
expect_error 'give --model, --device' "$HEADROOM" init
expect_error 'give --device' "$HEADROOM" init --model llama-3.1-8b </dev/null
expect_error 'llama-3.1-8b' "$HEADROOM" init --model llama-3.1-8bb --device h100-sxm
expect_error 'h100-sxm' "$HEADROOM" init --model llama-3.1-8b --device h100-sxmm
expect_error 'vllm' "$HEADROOM" init --model llama-3.1-8b --device h100-sxm --engine vlm
expect_error '--rate' "$HEADROOM" init --model llama-3.1-8b --device l40s --rate 1 --users 1
expect_error '--rate' "$HEADROOM" init --model llama-3.1-8b --device l40s --rate 0
expect_error '--slo' "$HEADROOM" init --model llama-3.1-8b --device l40s --slo p42_ttft=1s
expect_error '--slo' "$HEADROOM" init --model llama-3.1-8b --device l40s --slo itl=1s
expect_error '--in many' "$HEADROOM" init --model llama-3.1-8b --device l40s --in many
expect_error '.yaml or .yml' "$HEADROOM" init --model llama-3.1-8b --device l40s -o a.json
[[ ! -e scenario.yaml && ! -e a.json ]] || fail "left behind: $(ls)"
printf 'model: llama-3.1-8b\nmodel: x\n' >twice.yaml
expect_error "twice.yaml:2: duplicate key 'model'" "$HEADROOM" check twice.yaml
printf 'model: llama-3.1-8b\ndevice: h100-sxm\nengin: vllm\n' >key.yaml
expect_error 'key.yaml: /engin: ' "$HEADROOM" check key.yaml

# On a terminal it asks for what is missing, and again where an answer is wrong.
cat >terminal.py <<'PY'
import os, pty, sys
answers = sys.argv[1].encode().decode("unicode_escape").encode()
pid, terminal = pty.fork()
if pid == 0:
    os.execv(os.environ["HEADROOM"], ["headroom", "init", *sys.argv[2:]])
os.write(terminal, answers)
shown = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    shown += part
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
export HEADROOM
python3 terminal.py 'lama-3.1-8b\nllama-3.1-8b\nl40s\n\n-1\n2\n500\n\nttft=1s\n' -o asked.yaml \
  >terminal.txt || fail "$(cat terminal.txt)"
grep -q 'nearest: llama-3.1-8b' terminal.txt || fail "$(cat terminal.txt)"
grep -q 'asked.yaml written' terminal.txt || fail "$(cat terminal.txt)"
grep -q '^    request_rate: 2.0 ' asked.yaml || fail "$(cat asked.yaml)"
grep -q '^  ttft_ms: 1000.0' asked.yaml || fail "$(cat asked.yaml)"
"$HEADROOM" check asked.yaml >/dev/null
python3 terminal.py '\n' --model qwen3-8b --device l40s -o asked.yaml >terminal.txt &&
  fail 'replaced without a yes'
grep -q '^model: llama-3.1-8b' asked.yaml || fail 'replaced without a yes'
python3 terminal.py 'yes\n' --model qwen3-8b --device l40s -o asked.yaml >terminal.txt ||
  fail "$(cat terminal.txt)"
grep -q '^model: qwen3-8b' asked.yaml || fail 'yes does not replace'
