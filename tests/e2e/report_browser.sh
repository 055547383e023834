#!/usr/bin/env bash
# Pages of `headroom report` in a browser without a window: charts, tooltips, tables, both themes,
# widths of a desk and of a phone.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$(dirname "${BASH_SOURCE[0]}")
python=/usr/bin/python3  # Debian's, which has Debian's selenium
for need in chromium chromedriver; do
  command -v $need >/dev/null || { echo "skipped: no $need"; exit 77; }
done
$python -c 'import selenium' 2>/dev/null || { echo 'skipped: no python3-selenium'; exit 77; }

"$HEADROOM" run demo -o demo --set workload.num_requests=2000 >/dev/null
"$HEADROOM" run llama-8b-4090-thrash -o 'thrash <b>' --until 600 >/dev/null
"$HEADROOM" run llama-70b-does-not-fit -o oom >/dev/null
$python "$here/report_study.py" study.db
"$HEADROOM" sweep max-context -o searches.db >/dev/null
"$HEADROOM" sweep throughput-latency-front --set workload.num_requests=1000 -o front.db >/dev/null
"$HEADROOM" report demo -o run.html >/dev/null
"$HEADROOM" report demo 'thrash <b>' -o comparison.html \
  --title '<img src=x onerror=alert(1)>' >/dev/null
"$HEADROOM" report oom -o oom.html >/dev/null
for study in study searches front; do
  "$HEADROOM" report $study.db -o $study.html >/dev/null
done
$python "$here/report_browser.py" .
