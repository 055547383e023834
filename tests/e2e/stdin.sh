#!/usr/bin/env bash
# `-` is standard input, piped or redirected, wherever a command reads one file.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

samples=$HEADROOM_SOURCE_DIR/tests/data/traces
same() { cmp "$1" "$2" || fail "$3"; }

# A scenario; its trace; not both.
small_scenario >small.json
"$HEADROOM" run small.json -o file >/dev/null
"$HEADROOM" run - -o piped <small.json >/dev/null
cat small.json | "$HEADROOM" run - --set name=small -o set >/dev/null
for out in piped set; do
  same file/requests.csv $out/requests.csv "a scenario on standard input ($out)"
done
"$HEADROOM" check - <small.json >/dev/null

"$HEADROOM" run small.json --trace "$samples/azure.csv" -o trace >/dev/null
cat "$samples/azure.csv" | "$HEADROOM" run small.json --trace - -o trace-piped >/dev/null
"$HEADROOM" run small.json --trace - -o trace-read <"$samples/azure.csv" >/dev/null
for out in trace-piped trace-read; do
  same trace/requests.csv $out/requests.csv "a trace on standard input ($out)"
done
expect_error 'standard input is already the scenario' "$HEADROOM" run - --trace - </dev/null

# What is in a trace file, and the same in another format.
for command in 'describe' 'check' 'convert -o -'; do
  "$HEADROOM" trace $command "$samples/mooncake.jsonl" 2>/dev/null | tail -n +2 >file.txt
  cat "$samples/mooncake.jsonl" | "$HEADROOM" trace $command - 2>/dev/null | tail -n +2 |
    grep -v '^order' >piped.txt
  same file.txt piped.txt "trace $command -"
done

# A command, a compose file, a log.
command='vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 4096'
"$HEADROOM" from "$command" --device l40s >file.txt
echo "$command" | "$HEADROOM" from - --device l40s >piped.txt
same file.txt piped.txt 'from -: a command'
cat >c.yaml <<'YAML'
services:
  llm:
    image: vllm/vllm-openai:v0.19.0
    command: --model Qwen/Qwen3-8B
YAML
"$HEADROOM" from c.yaml --device l40s >file.txt
"$HEADROOM" from - --device l40s <c.yaml >piped.txt
same file.txt piped.txt 'from -: a compose file'
expect_error 'only one input can be standard input' "$HEADROOM" from - -

# An audit of a scenario; a recording.
"$HEADROOM" audit small.json -q >file.txt
cat small.json | "$HEADROOM" audit - --set name=small -q >piped.txt
same file.txt piped.txt 'audit -'
printf 'timestamp,memory.used [MiB],memory.total [MiB]\n' >series.csv
for second in 10 11 12 13; do
  printf '2026/01/02 10:00:%s.000,4000 MiB,24564 MiB\n' $second >>series.csv
done
if "$HEADROOM" audit --series series.csv >file.txt 2>&1; then
  cat series.csv | "$HEADROOM" audit --series - >piped.txt
  same <(sed 's/series.csv//' file.txt) <(sed 's,/dev/stdin,,' piped.txt) 'audit --series -'
else
  fail "the recording: $(cat file.txt)"
fi

# Nothing, and no input at all.
expect_error '/dev/stdin' "$HEADROOM" run - </dev/null
expect_error '/dev/stdin: is empty' "$HEADROOM" trace check - </dev/null
expect_error '/dev/stdin' "$HEADROOM" audit - <&-
