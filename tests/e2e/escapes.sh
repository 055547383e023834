#!/usr/bin/env bash
# Names from files cannot steer a terminal: control characters and bytes that are no UTF-8 are shown
# escaped, in answers and in errors. JSON keeps them, by its own escapes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# safe FILE...: text of printable UTF-8 in lines.
safe() {
  local file
  for file in "$@"; do
    iconv -f utf-8 -t utf-8 "$file" >/dev/null || fail "$file is no UTF-8"
    if LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$file"; then
      fail "$file has control characters"
    fi
  done
}
has() { grep -qF -- "$2" "$1" || fail "'$2' is not in $1: $(cat "$1")"; }

# In JSON, and as it is shown.
name='n\u001b[31m\u009b1m\u007f\nfaked line'
shown='n\x1b[31m\u009b1m\x7f\nfaked line'
ugly=$'n\x1b[2J\x07\xff'
ugly_shown='n\x1b[2J\x07\xff'

named_scenario "\"$name\"" >named.json
"$HEADROOM" run named.json -o run >out.txt 2>err.txt
safe out.txt err.txt
has out.txt "scenario    $shown"
"$HEADROOM" check named.json >check.txt
safe check.txt
"$HEADROOM" run named.json --json >out.json
has out.json 'n\u001b[31m'
"$HEADROOM" compare named.json --set-b seed=2 --replications 1 --set run.until_s=1 >compare.txt
safe compare.txt

# Classes of a scenario and of a trace, in all that reads and writes it.
cat >classes.json <<JSON
{ "name": "classes", "model": "llama-3.1-8b", "device": "h100-sxm", "engine": {"name": "vllm"},
  "workload": { "num_requests": 20, "arrivals": { "request_rate": 5 },
    "max_tokens": { "rule": "value", "value": 20 },
    "classes": [
      { "name": "$name", "prompt": { "law": "fixed", "tokens": 20 }, "share": 1,
        "output": { "law": "fixed", "tokens": 20 } },
      { "name": "b", "prompt": { "law": "fixed", "tokens": 20 }, "share": 1,
        "output": { "law": "fixed", "tokens": 20 } } ] } }
JSON
"$HEADROOM" run classes.json -o classes >out.txt
safe out.txt
has out.txt "$shown"
printf 'arrival_ns,prompt_tokens,output_tokens,class\n0,10,5,%s\n' $'a\x1b[31m\xc2\x9b' >"$ugly.csv"
printf '1000,10,5,b\n' >>"$ugly.csv"
for command in describe check; do
  "$HEADROOM" trace $command "$ugly.csv" >out.txt
  safe out.txt
  has out.txt "$ugly_shown.csv"
done
"$HEADROOM" trace convert "$ugly.csv" -o "copy $ugly.csv" >out.txt
safe out.txt
LC_ALL=C grep -qF $'a\x1b[31m\xc2\x9b' "copy $ugly.csv" || fail 'a class changed in CSV'
"$HEADROOM" trace convert "$ugly.csv" -o - --to mooncake >/dev/null 2>err.txt
safe err.txt
"$HEADROOM" run named.json --trace "$ugly.csv" -o traced >out.txt
safe out.txt

# Studies and plans.
axis='{"path": "engine.max_num_seqs", "values": [2, 4]}'
printf '{"name": "%s", "base": "named.json", "vary": [%s]}' "$name" "$axis" >study.json
"$HEADROOM" sweep study.json --dry-run >out.txt
safe out.txt
has out.txt "study      $shown (study.json)"
"$HEADROOM" sweep study.json -o "$ugly.db" >out.txt 2>err.txt
safe out.txt err.txt
"$HEADROOM" merge merged.db "$ugly.db" >out.txt
safe out.txt
has out.txt "of study $shown"
printf '{ "name": "%s", "traffic": {"scenario": "named.json"}, "slo": {"p99_ttft_ms": 600},
  "models": ["llama-3.1-8b"], "replications": 1, "tensor_parallel_size": [1],
  "instances": [{"name": "%s", "device": "h100-sxm", "price_per_hour": 3}]}' \
  "$name" "$name" >plan.json
"$HEADROOM" fleet plan plan.json -o plan >out.txt 2>err.txt
safe out.txt err.txt
has out.txt "$shown"

# Errors: one line.
bad() {
  expect_error "$@"
  "${@:2}" 2>err.txt >/dev/null || true
  safe err.txt
}
bad "no $ugly_shown: no such file" "$HEADROOM" run "no $ugly"
bad "--set $ugly_shown" "$HEADROOM" run named.json --set "$ugly"
bad 'x\nheadroom: all is well' "$HEADROOM" run $'x\nheadroom: all is well'
bad "$ugly_shown.db: already exists" "$HEADROOM" sweep study.json -o "$ugly.db"
bad "$ugly_shown" "$HEADROOM" list "$ugly"
bad "$ugly_shown" "$HEADROOM" run named.json "--$ugly"

# Comments of a scenario stay comments.
command=$'vllm serve m --no-such-flag \'a\n"device": "x"\x1b[2J\''
"$HEADROOM" from "$command" --device h100-sxm >from.json
safe from.json
if grep -q '^"device": "x"' from.json; then fail 'a word of a command became a line'; fi
