#!/usr/bin/env bash
# An output that cannot be written is one line and exit code 2, and nothing half-written stays.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
run() { "$HEADROOM" run small.json "$@"; }

expect_error 'file.txt: cannot write results: exists and is not a directory' \
  bash -c ': >file.txt; "$HEADROOM" run small.json -o file.txt'
expect_error 'cannot write results: Not a directory' run -o file.txt/below
mkdir mine && echo text >mine/thesis.tex
expect_error 'it holds thesis.tex, which is not a result file' run -o mine
[[ $(ls -A mine) == thesis.tex ]] || fail 'a folder of the user was touched'
expect_error 'cannot write results' run -o /proc/headroom-results
if [[ $EUID != 0 ]]; then
  mkdir closed && chmod 555 closed
  expect_error 'closed/r: cannot write results: Permission denied' run -o closed/r
fi
expect_error 'standard output: cannot write' bash -c '"$HEADROOM" list engines >/dev/full'

# No file may grow beyond 8 blocks of 1 KiB: requests.csv (200 rows) does not fit.
expect_error 'requests.csv: cannot write: File too large' \
  bash -c 'ulimit -f 8; exec "$HEADROOM" run small.json -o limited'
nothing_left

# A full disk, where this machine lets us mount a small one.
full_disk='mkdir disk && mount -t tmpfs -o size=64k tmpfs disk || exit 77
  code=0
  "$HEADROOM" run small.json --set workload.num_requests=5000 -o disk/r 2>disk.txt || code=$?
  [[ -z $(ls -A disk) ]] || code=1
  umount disk
  exit $code'
code=0
unshare --user --map-root-user --mount bash -c "$full_disk" 2>/dev/null || code=$?
if [[ $code == 2 ]]; then
  grep -q 'No space left on device' disk.txt || fail "full disk: $(cat disk.txt)"
elif [[ -s disk.txt || $code == 0 ]]; then
  fail "full disk: exit code $code: $(cat disk.txt)"
else
  echo 'no small disk could be mounted here: that part is skipped'
fi

# Results of an earlier run are replaced, and kept when the next run fails.
run -o good >/dev/null
cp -r good kept
expect_error 'cannot write: File too large' \
  bash -c 'ulimit -f 8; exec "$HEADROOM" run small.json -o good'
diff -r good kept || fail 'a failed run changed earlier results'
run -o good --set seed=9 >/dev/null
cmp -s good/requests.csv kept/requests.csv && fail 'the second run did not replace the first'
[[ -z $(find . -name '*.partial-*') ]] || fail 'a temporary folder stayed'
