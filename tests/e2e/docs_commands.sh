#!/usr/bin/env bash
# The commands of the question pages, of assert and of tune run as they stand, each page in an empty
# folder, and print the lines that the page shows. A wrong command and a wrong line are found.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

runner=$HEADROOM_SOURCE_DIR/scripts/docs/commands.py
export PYTHONDONTWRITEBYTECODE=1
mkdir bin
ln -s "$HEADROOM" bin/headroom
PATH=$PWD/bin:$PATH

faults=0
docs=$HEADROOM_SOURCE_DIR/docs
for page in "$docs"/questions/*.md "$docs"/{assert,tune}.md; do
  python3 "$runner" "$page" "$(basename "$page" .md)" || faults=1
done
[[ $faults == 0 ]] || fail 'pages that say what the program does not'

cat >wrong.md <<'MD'
```sh
headroom check demo
```
```text
check       ok
check       perfect
```

```sh
headroom check no-such-scenario
```
MD
python3 "$runner" wrong.md wrong >faults.txt && fail 'faults are no failure'
[[ $(wc -l <faults.txt) == 2 ]] || fail "not two faults: $(cat faults.txt)"
grep -q 'does not print: check       perfect' faults.txt || fail "$(cat faults.txt)"
grep -q 'no-such-scenario: exit code 2' faults.txt || fail "$(cat faults.txt)"
