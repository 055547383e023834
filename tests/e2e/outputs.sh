#!/usr/bin/env bash
# No output replaces an input, whatever it is called, and no name in a file leads out of the folder
# of outputs. Both are refused before anything runs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
# With requests for hours of simulation: what is not refused at once does not end here.
sed 's/"num_requests": 200/"num_requests": 50000000/' small.json >s.json
awk 'BEGIN { print "arrival_ns,prompt_tokens,output_tokens"
             for (i = 0; i < 500; ++i) print i * 1000000 ",10,5" }' >t.csv
gzip -c t.csv >t.csv.gz
cp s.json kept.json && cp t.csv kept.csv
ln s.json hard.json && ln -s s.json soft.json
ln t.csv hard.csv && ln -s t.csv soft.csv
program=(timeout 20 "$HEADROOM")
refused() { expect_error 'cannot write: it would replace' "$@"; }

# One file as input and output, under all its names.
for name in s.json ./s.json hard.json soft.json "$PWD/s.json"; do
  refused "${program[@]}" run s.json -o r --event-log "$name"
done
refused "${program[@]}" run hard.json -o r --event-log soft.json
for name in t.csv hard.csv soft.csv; do
  refused "${program[@]}" run s.json --trace t.csv -o r --event-log "$name"
  refused "${program[@]}" trace convert t.csv -o "$name"
  refused "${program[@]}" trace convert /dev/stdin -o "$name" <t.csv
done
refused "${program[@]}" trace convert t.csv.gz -o t.csv.gz
axis='{"path": "engine.max_num_seqs", "values": [2, 4]}'
printf '{"base": "small.json", "vary": [%s]}' "$axis" >study.json
refused "${program[@]}" sweep study.json -o study.json --resume
refused "${program[@]}" sweep study.json -o small.json --resume
nothing_left

# Results over the run that they are made of.
"$HEADROOM" run small.json -o small >/dev/null
cp -r small before
cp s.json small/resolved.json
refused "${program[@]}" run small/resolved.json -o small
mkdir pair && cp -r small pair/b
refused "${program[@]}" compare small.json pair/b/resolved.json -o pair
cp before/resolved.json small/resolved.json
refused "${program[@]}" report small -o small/summary.json
refused "${program[@]}" report small -o small/requests.csv
expect_error 'this command replaces the whole folder' \
  "${program[@]}" run s.json -o small --event-log small/log.json
diff -r small before || fail 'results changed'
"$HEADROOM" sweep study.json -o study.db >/dev/null
cp study.db kept.db
refused "${program[@]}" report study.db -o study.db
cmp study.db kept.db || fail 'a study changed'

# Plans, and rows of calibrations.
plan() { # plan NAME: writes plan.json
  printf '{"name": %s,
    "traffic": {"scenario": "s.json"}, "slo": {"p99_ttft_ms": 600}, "models": ["llama-3.1-8b"],
    "instances": [{"device": "h100-sxm", "price_per_hour": 3}]}' "$1" >plan.json
}
plan '"small"'
refused "${program[@]}" fleet plan plan.json -o .
refused "${program[@]}" fleet plan plan.json -o "$PWD/pair/.."
mkdir own
echo '{"calibrations": []}' >rows.json
ln rows.json own/calibrations.json
refused "${program[@]}" calibrate s.json --calibration h100-sxm-vllm --fit step_base_us -o own \
  --catalog own
cmp own/calibrations.json rows.json || fail 'rows of the user were replaced'

# Names that would lead elsewhere, or that no file can have.
long=$(printf 'x%.0s' {1..201})
for name in '".."' '"."' '""' '"../s"' '"/tmp/x"' '"a\\b"' '"a\nb"' '"\u001b[2Jx"' '"a\u0000b"' \
  '"\u009bm"' "\"$long\""; do
  plan "$name"
  expect_error 'plan.json: /name: ' "${program[@]}" fleet plan plan.json
  printf '{"name": %s, "base": "small.json"}' "$name" >named.json
  expect_error 'named.json: /name: ' "${program[@]}" sweep named.json
  [[ $name == '""' ]] && continue  # the file's name stands in
  named_scenario "$name" >named.json
  expect_error 'named.json: /name: ' "${program[@]}" run named.json
done
expect_error 'expected 1 to 200 bytes of UTF-8 without / \ and control characters, not . or ..' \
  "${program[@]}" run named.json
[[ ! -e results ]] || fail 'a refused name left a folder'
"$HEADROOM" run named.json -o named >/dev/null || fail 'a name is free where -o is given'
"$HEADROOM" run small.json --set 'name=a ü.b' >/dev/null
[[ -e results/a___.b/summary.json ]] || fail "folder of a scenario: $(ls results)"

cmp s.json kept.json || fail 'a scenario changed'
cmp t.csv kept.csv || fail 'a trace changed'
[[ -z $(find . -name '*.partial-*') ]] || fail "left behind: $(find . -name '*.partial-*')"
