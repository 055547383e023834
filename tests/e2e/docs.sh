#!/usr/bin/env bash
# The documentation becomes a site without a broken link, and nothing of it is fetched from
# elsewhere. Each kind of fault, put into a copy, is found.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

source=$HEADROOM_SOURCE_DIR
code=0
"$source/scripts/docs.sh" "$PWD/site" >log.txt 2>&1 || code=$?
if [[ $code == 77 ]]; then
  cat log.txt
  exit 77
fi
[[ $code == 0 ]] || fail "docs.sh: $(cat log.txt)"
grep -q ' 0 faults$' log.txt || fail "no links checked: $(cat log.txt)"
for page in index questions/rate-and-knee hardware/probe/index notebooks/index; do
  [[ -s site/$page.html ]] || fail "no page $page"
done
[[ -s site/notebooks/001_kv_formula.ipynb ]] || fail 'a linked file outside docs is not in the site'
# Lists without an empty line before them, a list in a list, and code in a list.
for text in '^<li>no chunking and P' '^<pre><code>piece(known, rest):'; do
  grep -q "$text" site/semantics/trtllm.html || fail "semantics/trtllm.html has no $text"
done

for page in "$source"/docs/questions/*.md; do
  grep -q "(questions/$(basename "$page"))" "$source/docs/index.md" ||
    fail "docs/index.md does not lead to $(basename "$page")"
done

# One page with each fault; the checker names them all.
mkdir faulty
echo '@font-face { src: url("//example.org/font.woff2"); }' >faulty/style.css
cat >faulty/other.html <<'HTML'
<h1 id="here">here</h1>
HTML
cat >faulty/index.html <<'HTML'
<script src="https://example.org/a.js"></script>
<a href="other.html#here">good</a> <a href="https://example.org/">good</a>
<a href="missing.html">gone</a> <a href="other.html#there">gone</a> <a href="../log.txt">out</a>
<img src="other.html"><p>Text
- no list</p>
HTML
/usr/bin/python3 "$source/scripts/docs/check_links.py" faulty >faults.txt &&
  fail 'faults are no failure'
for fault in 'a.js: fetched from elsewhere' 'missing.html: no such file' \
  '#there: no such anchor' 'log.txt: leaves the site' 'picture without a text' \
  'a list or table that is none: - no list' \
  'style.css: //example.org/font.woff2: fetched' '7 links, 7 faults'; do
  grep -qF -- "$fault" faults.txt || fail "'$fault' is not in: $(cat faults.txt)"
done

# A broken link in the sources, and a page that is in no navigation, fail the build.
mkdir -p copy/hardware
cp -r "$source"/{docs,notebooks,scenarios,scripts,README.md,mkdocs.yml} copy/
cp -r "$source/hardware/probe" copy/hardware/
mkdir -p copy/sim/serving copy/sim/api
cp "$source/sim/api/headroom.hpp" copy/sim/api/
cp "$source/sim/serving/prefix.hpp" copy/sim/serving/
copy/scripts/docs.sh "$PWD/copied" >log.txt 2>&1 || fail "a copy: $(cat log.txt)"
echo 'See [nothing](no-such-page.md).' >>copy/docs/fleet.md
copy/scripts/docs.sh "$PWD/copied" >log.txt 2>&1 && fail 'a broken link is no failure'
grep -q "'fleet.md' contains a link to 'no-such-page.md'" log.txt || fail "$(cat log.txt)"
cp "$source/docs/fleet.md" copy/docs/
echo 'See [nothing](fleet.md#no-such-heading).' >>copy/docs/report.md
copy/scripts/docs.sh "$PWD/copied" >log.txt 2>&1 && fail 'a broken anchor is no failure'
grep -q 'report.html: fleet.html#no-such-heading: no such anchor' log.txt || fail "$(cat log.txt)"
cp "$source/docs/report.md" copy/docs/
echo '# Lost' >copy/docs/lost.md
copy/scripts/docs.sh "$PWD/copied" >log.txt 2>&1 && fail 'a page without a place is no failure'
grep -q 'nav has no place for lost.md' log.txt || fail "$(cat log.txt)"
