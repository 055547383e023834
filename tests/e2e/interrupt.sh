#!/usr/bin/env bash
# Ctrl-C, SIGTERM and SIGHUP end a run with complete, consistent results, and any other command
# without a file that is half written. The exit code is 128 + the signal.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# appears PATTERN: waits for such a file or folder.
appears() {
  for _ in $(seq 200); do
    compgen -G "$1" >/dev/null && return
    sleep 0.05
  done
  fail "there is no $1"
}
# ends PROGRAM CODE: waits for its end.
ends() {
  local code=0
  wait "$1" || code=$?
  [[ $code == "$2" ]] || fail "exit code $code instead of $2: $(cat stderr.txt)"
}
no_partial() {
  [[ -z $(find . -name '*.partial-*') ]] || fail "left behind: $(find . -name '*.partial-*')"
}
# Single steps, so that the run lasts until it is interrupted.
long=(run chat-million --single-step --set workload.num_requests=50000000)

is_partial_result() {
  no_partial
  accounted "$1/summary.json"
  grep -q '"stop": "interrupted"' "$1/summary.json" || fail "$1: no stop reason in the summary"
  (($(number "$1/summary.json" finished) > 0)) || fail "$1: nothing had finished"
  [[ $(wc -l <"$1/requests.csv") == $(($(number "$1/summary.json" arrived) + 1)) ]] ||
    fail "$1/requests.csv is not complete"
}

for signal in INT:130 TERM:143 HUP:129; do
  name=${signal%:*}
  "$HEADROOM" "${long[@]}" -o "$name" >summary.txt 2>stderr.txt &
  program=$!
  appears ".$name.partial-*"
  sleep 1
  kill -"$name" $program
  ends $program "${signal#*:}"
  is_partial_result "$name"
done

# `timeout` sends its signal to the program and to the group of the program: that is twice.
code=0
timeout 2 "$HEADROOM" "${long[@]}" -o limited >summary.txt 2>stderr.txt || code=$?
[[ $code == 124 ]] || fail "timeout: exit code $code"
is_partial_result limited

# What is ignored from the start stays ignored.
nohup "$HEADROOM" "${long[@]}" -o kept >summary.txt 2>stderr.txt &
program=$!
appears '.kept.partial-*'
kill -HUP $program
sleep 1
kill -TERM $program
ends $program 143
is_partial_result kept

# A second Ctrl-C ends the program at once. The pipe holds it where it cannot stop by itself.
mkfifo trace.csv
small_scenario >small.json
"$HEADROOM" run small.json --trace trace.csv -o second >/dev/null 2>stderr.txt &
program=$!
appears '.second.partial-*'
kill -INT $program
sleep 0.2
kill -0 $program || fail 'the first SIGINT ended the program at once'
kill -INT $program
ends $program 130
no_partial
[[ ! -e second ]] || fail 'results of a run that did not begin'

# A command that has no partial results: convert waits for the pipe.
for signal in TERM:143 HUP:129; do
  "$HEADROOM" trace convert trace.csv -o converted.csv >/dev/null 2>stderr.txt &
  program=$!
  appears '.converted.csv.partial-*'
  kill -"${signal%:*}" $program
  ends $program "${signal#*:}"
  no_partial
done

# A plan: no half of it is shown.
"$HEADROOM" fleet plan chat-fleet -o plan >plan.txt 2>stderr.txt &
program=$!
sleep 1
kill -TERM $program
ends $program 143
grep -q '^interrupted before the plan was ready' plan.txt || fail "plan: $(cat plan.txt)"
[[ ! -e plan ]] || fail 'a plan that was interrupted left its folder'

# SIGKILL leaves the temporary folder, which nothing removes; a run whose own it would be says so.
"$HEADROOM" "${long[@]}" -o killed >/dev/null 2>stderr.txt &
program=$!
appears '.killed.partial-*'
kill -KILL $program
ends $program 137
[[ -d .killed.partial-$program ]] || fail 'where is the temporary folder of a killed run?'
"$HEADROOM" run small.json -o killed >/dev/null
[[ -d .killed.partial-$program ]] || fail 'a run removed the temporary folder of another one'
rm -r .killed.partial-*
expect_error 'exists, left by a killed run: remove it' \
  bash -c 'mkdir .again.partial-$$ && exec "$HEADROOM" run small.json -o again'
rm -r .again.partial-*
