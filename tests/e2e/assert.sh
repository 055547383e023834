#!/usr/bin/env bash
# `assert`: what scenarios must keep. Exit code 4 when one is broken; JUnit XML and Markdown that
# other programs read; bad input is refused before anything runs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# outcome CODE ARGUMENTS...: the exit code; the answer in out.txt.
outcome() {
  local wanted=$1 code=0
  shift
  "$HEADROOM" assert "$@" >out.txt 2>stderr.txt || code=$?
  [[ $code == "$wanted" ]] || fail "exit code $code, not $wanted: $*: $(cat stderr.txt out.txt)"
  [[ ! -s stderr.txt ]] || fail "beside the answer: $(cat stderr.txt)"
}

small_scenario >small.json
outcome 0 small.json 'p99_ttft < 10s' 'oom == 0' 'completed == 200'
[[ $(head -n 1 out.txt) == 'HOLDS: 3 assertions' ]] || fail "$(cat out.txt)"
outcome 4 small.json 'p99_ttft < 1ms' 'oom == 0'
[[ $(head -n 1 out.txt) == 'BROKEN: 1 of 2 assertions' ]] || fail "$(cat out.txt)"
outcome 0 small.json p99_ttft=10s,p95_tpot=5s
grep -q assumed out.txt && fail 'a unit that was given is assumed'
outcome 0 small.json 'p99_ttft <= 9000' 'oom == 0'
grep -qx 'assumed     p99_ttft <= 9000 is taken as 9000 ms; write 9000s for seconds' out.txt ||
  fail "$(cat out.txt)"

# Just above the simulated figure: tight, and no failure.
"$HEADROOM" run small.json --json >run.json
limit=$(awk -v ms="$(number run.json p99_ttft_ms)" 'BEGIN { print 1.001 * ms }')
outcome 0 small.json "p99_ttft_ms <= $limit"
head -n 1 out.txt | grep -q '^TIGHT: 1 assertion; 1 closer than the known error' ||
  fail "$(cat out.txt)"

# Several scenarios, each file read by a program of its own; one thread or two.
sed 's/"small"/"more <\&> |"/; s/"request_rate": 20/"request_rate": 4000/' small.json >more.json
outcome 4 small.json more.json llama-70b-does-not-fit 'p99_e2el < 1h' 'started == 1' \
  --junit one.xml --markdown one.md -j 1 --json
cp out.txt one.json
outcome 4 small.json more.json llama-70b-does-not-fit 'p99_e2el < 1h' 'started == 1' \
  --junit two.xml --markdown two.md -j 2 --json
cmp one.xml two.xml && cmp one.md two.md && cmp one.json out.txt || fail '-j 1 and -j 2 differ'
python3 - <<'PY' || fail "$(cat one.xml one.json)"
import json, xml.etree.ElementTree as tree
root = tree.parse("one.xml").getroot()
assert root.tag == "testsuites" and root.get("tests") == "6"
suites = root.findall("testsuite")
assert [s.get("name") for s in suites] == ["small", "more <&> |", "llama-70b-does-not-fit"]
failed = [c.get("classname") + ": " + c.get("name")
          for s in suites for c in s.findall("testcase") if c.find("failure") is not None]
assert int(root.get("failures")) == len(failed) == 3, failed
answer = json.load(open("one.json"))
assert answer["verdict"] == "broken" and answer["broken"] == 3
broken = [(s["scenario"], a["why"]) for s in answer["scenarios"] for a in s["assertions"]
          if "why" in a]
assert broken[0][1].startswith("overloaded"), broken
assert broken[1] == ("llama-70b-does-not-fit", "the engine does not start"), broken
PY
grep -qF '| **broken** | started == 1 | 0 |' one.md || fail "$(cat one.md)"
[[ $(grep -c '^####' one.md) == 3 ]] || fail "$(cat one.md)"

# Bad input: nothing runs and nothing is written.
rm -f ./*.xml ./*.md out.txt stderr.txt one.json run.json
expect_error 'name what must hold' "$HEADROOM" assert small.json
expect_error 'name a scenario' "$HEADROOM" assert 'oom == 0'
expect_error 'p99_tfft (nearest: p99_ttft), ooms (nearest: oom)' \
  "$HEADROOM" assert small.json 'p99_tfft < 1s' 'ooms == 0' --junit a.xml
expect_error 'a single = gives the limit of a latency' "$HEADROOM" assert small.json 'oom = 0'
expect_error 'expected a number of p99_ttft_ms (ms)' "$HEADROOM" assert small.json 'p99_ttft < 5%'
expect_error 'stands twice' "$HEADROOM" assert small.json 'oom < 1' 'oom < 2'
expect_error 'no such file, and no built-in scenario' "$HEADROOM" assert smal.json 'oom == 0'
expect_error 'no-folder' "$HEADROOM" assert small.json 'oom == 0' --junit no-folder/a.xml
expect_error '-j 0' "$HEADROOM" assert small.json 'oom == 0' -j 0
expect_error 'max_num_seqs' "$HEADROOM" assert small.json 'oom == 0' --set max_num_seqs=x
[[ $(ls) == $'more.json\nsmall.json' ]] || fail "left behind: $(ls)"

# The workflow of the page, in a repository as it supposes one.
mkdir serving
"$HEADROOM" init --model llama-3.1-8b --device h100-sxm --slo ttft=1s -o serving/chat.yaml \
  >/dev/null
workflow=$(sed -n '/^```yaml$/,/^```$/p' "$HEADROOM_SOURCE_DIR/docs/assert.md")
step=$(grep -A 2 'headroom assert serving' <<<"$workflow" | tr -s ' \n' ' ')
[[ $step == *--junit* ]] || fail "no step in: $workflow"
mkdir bin
ln -s "$HEADROOM" bin/headroom
PATH=$PWD/bin:$PATH GITHUB_STEP_SUMMARY=summary.md bash -e -c "$step" >out.txt
grep -q '^### Headroom: ' summary.md || fail "$(cat summary.md)"
grep -q '<testsuite name="chat" tests="4"' capacity.xml || fail "$(cat capacity.xml)"
