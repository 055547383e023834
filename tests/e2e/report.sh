#!/usr/bin/env bash
# `headroom report`: one file from a run, a comparison or a study; errors; the scenario in a page
# gives the same run again; the event log.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# data PAGE: the JSON in it
data() {
  sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1"
}

small_scenario >small.json
"$HEADROOM" run small.json -o small --event-log log.json >/dev/null
"$HEADROOM" run small.json -o slower --set engine.max_num_seqs=4 >/dev/null
"$HEADROOM" run llama-70b-does-not-fit -o oom >/dev/null

"$HEADROOM" report small >printed.txt
grep -q '^report.html ' printed.txt || fail "printed: $(cat printed.txt)"
"$HEADROOM" report small -o small.html >/dev/null
cmp report.html small.html || fail 'two pages of one run differ'
[[ -n $(data small.html) ]] || fail 'no data in the page'
"$HEADROOM" report small slower -o both.html --title 'a < b' >/dev/null
grep -q '<title>a &lt; b – Headroom</title>' both.html || fail 'title'
"$HEADROOM" report oom -o oom.html >/dev/null
for page in small both oom; do
  (($(wc -c <$page.html) < 5000000)) || fail "$page.html is too large"
done

# A run with the flag has the results of one without it.
"$HEADROOM" run small.json -o plain >/dev/null
diff -r small plain || fail 'the event log changed the results'
[[ $(head -c 1 log.json) == '{' && $(tail -n 1 log.json) == ']}' ]] || fail 'event log'

expect_error 'no such file or folder' "$HEADROOM" report nowhere
expect_error 'it has no summary.json' "$HEADROOM" report .
expect_error 'results is missing' "$HEADROOM" report
expect_error 'small.json: not a database' "$HEADROOM" report small.json
cp -r small cut
truncate -s -200 cut/requests.csv
expect_error 'cut/requests.csv' "$HEADROOM" report cut -o cut.html
[[ ! -e cut.html ]] || fail 'a page of a damaged run'
expect_error 'cannot' "$HEADROOM" report small -o no/such/folder/page.html
expect_error 'log.json' "$HEADROOM" run small.json -o x --event-log nowhere/log.json
[[ ! -e x ]] || fail 'results without the event log'

# What follows reads JSON.
command -v python3 >/dev/null || exit 0
data small.html | python3 -c '
import json, sys
json.dump(json.load(sys.stdin)["runs"][0]["scenario"], open("again.json", "w"))'
"$HEADROOM" run again.json -o again >/dev/null
cmp small/requests.csv again/requests.csv || fail 'the scenario of the page gives another run'
python3 -c '
import json
events = json.load(open("log.json"))["traceEvents"]
assert sum(e["ph"] == "b" for e in events) == sum(e["ph"] == "e" for e in events) > 0' ||
  fail 'slices of the event log'

study=$(dirname "${BASH_SOURCE[0]}")/report_study.py
python3 "$study" study.db
"$HEADROOM" report study.db -o study.html >/dev/null
if grep -q 'onerror="' study.html; then fail 'a name became markup'; fi
python3 "$study" newer.db --schema 3
expect_error 'schema version 3' "$HEADROOM" report newer.db
expect_error 'or a single study database' "$HEADROOM" report study.db small
head -c 9000 study.db >half.db
expect_error 'half.db: damaged or truncated' "$HEADROOM" report half.db
python3 "$study" large.db --points 4000
"$HEADROOM" report large.db -o large.html >/dev/null
(($(wc -c <large.html) < 5000000)) || fail 'the page of a large study is too large'
