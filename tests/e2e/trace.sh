#!/usr/bin/env bash
# trace describe, check and convert as a user calls them: files, pipes, gzip, and their refusals.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

samples=$HEADROOM_SOURCE_DIR/tests/data/traces
# has FILE TEXT
has() { grep -qF -- "$2" "$1" || fail "'$2' is not in $1: $(cat "$1")"; }
describe() { "$HEADROOM" trace describe "$@"; }
convert() { "$HEADROOM" trace convert "$@"; }

for help in 'trace --help' 'trace describe --help' 'trace convert --help' 'trace check --help'; do
  lines=$("$HEADROOM" $help | wc -l)
  ((lines <= 40)) || fail "headroom $help takes $lines lines"
done

# A description of each format; the same from a pipe and from a gzip file.
for file in "$samples"/*.csv "$samples"/*.jsonl "$samples"/*.json; do
  describe "$file" >description.txt
  has description.txt "trace       $(basename "$file"), format "
  "$HEADROOM" trace check "$file" >check.txt
  grep -q '^check *ok$' check.txt || fail "check of $file"
done
describe "$samples/burstgpt.csv" >file.txt
gzip -c "$samples/burstgpt.csv" >burstgpt.csv.gz
describe burstgpt.csv.gz | tail -n +2 | cmp - <(tail -n +2 file.txt) || fail 'gzip'
describe <(cat "$samples/burstgpt.csv") >pipe.txt
has pipe.txt 'kept in memory, because a pipe cannot be read again'
cmp <(tail -n +2 file.txt) <(tail -n +3 pipe.txt) || fail 'pipe'

# 8 rows: requests at once and what the options of the comparison change.
describe "$samples/headroom.csv" --kv-tokens 1024 --max-model-len 128 --json >d.json
[[ $(number d.json pool_tokens) == 1024 ]] || fail 'pool_tokens'
[[ $(number d.json max_model_len_tokens) == 128 ]] || fail 'max_model_len_tokens'
tail -n 12 d.json | grep -q '"requests_at_once": 8.0' || fail '1024 / 128 requests'
tail -n 12 d.json | grep -q '"refused_requests": 1' || fail 'the prompt of 300 tokens is refused'

# A file out of order is sorted, and says so. Converted, it describes itself in the same way.
describe "$samples/headroom.csv" >before.txt
has before.txt '1 row earlier than the previous one: read again and sorted in memory'
convert "$samples/headroom.csv" -o sorted.csv >said.txt
has said.txt 'order       sorted: 1 backward step'
has said.txt 'written to  sorted.csv'
describe sorted.csv >after.txt
cmp <(tail -n +3 before.txt) <(tail -n +2 after.txt) || fail 'the description changed'
convert sorted.csv -o - | cmp - sorted.csv || fail 'converted twice'

# Mooncake and back; what it has no place for is said beside the output.
convert "$samples/mooncake.jsonl" -o m.csv >/dev/null
convert m.csv -o m.jsonl --to mooncake >/dev/null
convert m.jsonl -o back.csv >/dev/null
cmp <(cut -d, -f1-3 m.csv) <(cut -d, -f1-3 back.csv) || fail 'Mooncake and back'
convert "$samples/burstgpt.csv" -o - --to mooncake >burst.jsonl 2>said.txt
[[ $(wc -l <burst.jsonl) == 8 ]] || fail 'a row was lost'
has said.txt 'left out    class: the format has no place for them'

# Places of odd rows.
"$HEADROOM" trace check "$samples/headroom.csv" >check.txt
has check.txt 'backward steps  1 row, first row 6 (line 7)'
"$HEADROOM" trace check "$samples/headroom.csv" --json >check.json
[[ $(number check.json usable_rows) == 5 ]] || fail 'usable_rows'

# Refusals: one line, exit code 2, nothing left.
header=TIMESTAMP,ContextTokens,GeneratedTokens
printf '%s\n' $header '2023-11-16 18:17:03.97,10,5' '2023-11-16 18:17:04,x,5' >bad.csv
for command in describe check; do
  expect_error "bad.csv:3: ContextTokens is 'x'" "$HEADROOM" trace $command bad.csv
  expect_error 'no-such.csv' "$HEADROOM" trace $command no-such.csv
done
echo before >kept.csv
expect_error "bad.csv:3: ContextTokens is 'x'" convert bad.csv -o kept.csv
[[ $(cat kept.csv) == before ]] || fail 'a failed conversion changed the file'
expect_error "bad.csv:3: ContextTokens is 'x'" convert bad.csv -o -
printf '%s\n' $header '2023-11-16 18:17:03.97,10,0' >failed.csv
expect_error 'no request left' "$HEADROOM" trace check failed.csv
expect_error 'Mooncake needs 512' convert "$samples/bailian.jsonl" -o x.jsonl --to mooncake
expect_error '--to csv: expected one of headroom, mooncake' convert sorted.csv -o x.csv --to csv
expect_error '--kv-tokens 0: expected at least 1 token' describe sorted.csv --kv-tokens 0
expect_error '--max-model-len 0: expected' describe sorted.csv --max-model-len 0
expect_error 'command line: ' convert sorted.csv
expect_error 'command line: ' "$HEADROOM" trace
expect_error 'no-folder/x.csv: cannot write: No such file or directory' \
  convert sorted.csv -o no-folder/x.csv
expect_error '/dev/full: cannot write: No space left on device' convert sorted.csv -o /dev/full
expect_error 'standard output: cannot write' \
  bash -c '"$HEADROOM" trace convert sorted.csv -o - >/dev/full'
awk 'BEGIN { print "arrival_ns,prompt_tokens,output_tokens"
             for (i = 0; i < 5000; ++i) print i ",10,5" }' >long.csv
expect_error 'kept.csv: cannot write: File too large' \
  bash -c 'ulimit -f 8; exec "$HEADROOM" trace convert long.csv -o kept.csv'
[[ $(cat kept.csv) == before ]] || fail 'a failed conversion changed the file'
[[ ! -e x.jsonl && ! -e x.csv ]] || fail 'a refused conversion left a file'
nothing_left
