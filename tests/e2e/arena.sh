#!/usr/bin/env bash
# The page that compares simulators is what its data gives, and says so of a changed prediction.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! command -v python3 >/dev/null; then
  echo 'skipped: no python3'
  exit 77
fi

"$HEADROOM_SOURCE_DIR/scripts/arena.sh" --check

# A copy in which one simulator says twice as much.
mkdir -p copy/tests copy/scripts copy/docs
cp -r "$HEADROOM_SOURCE_DIR/tests/arena" copy/tests/
cp "$HEADROOM_SOURCE_DIR/scripts/arena.sh" copy/scripts/
cp "$HEADROOM_SOURCE_DIR/docs/arena.md" copy/docs/
copy/scripts/arena.sh --check || fail 'the copy differs'
awk -F, -v OFS=, 'NR > 1 { $2 *= 2 } { print }' copy/tests/arena/data/headroom.csv >wrong.csv
mv wrong.csv copy/tests/arena/data/headroom.csv
copy/scripts/arena.sh --check 2>said.txt && fail 'a wrong prediction passes'
grep -q 'is not what tests/arena/data gives' said.txt || fail "$(cat said.txt)"
copy/scripts/arena.sh
copy/scripts/arena.sh --check || fail 'the page was not written'
cmp -s copy/docs/arena.md "$HEADROOM_SOURCE_DIR/docs/arena.md" && fail 'the page stays the same'

# A run that is gone leaves the others' predictions with their points: ids are no running numbers.
sed -i 2d copy/tests/arena/data/points.csv
copy/scripts/arena.sh || fail 'a point that is gone ends the page'
python3 - copy/tests/arena <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import points
first = points.stable_id("a/TP1 1024x128 c001")
assert first == points.stable_id("a/TP1 1024x128 c001") != points.stable_id("a/TP1 1024x128 c002")
PY

# Every prediction is of a point that was measured, once; points have something measured.
python3 - "$HEADROOM_SOURCE_DIR/tests/arena" <<'PY'
import csv, pathlib, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import arena
data = pathlib.Path(sys.argv[1]) / "data"
points = arena.read_points(data / "points.csv")
assert len(points) >= 300 and all(point.measured for point in points)
assert len({point.engine for point in points}) >= 3 and len({p.device for p in points}) >= 4
known = {point.id for point in points}
assert len(known) == len(points)
for path in data.glob("*.csv"):
    if path.name != "points.csv":
        rows = [row["id"] for row in csv.DictReader(path.open())]
        assert len(rows) == len(set(rows)) and known.issuperset(rows), path
        for said in arena.read_predictions(path).values():
            assert bool(said.refused) != any(said.of(m) > 0 for m in arena.METRICS), (path, said)
PY

# Without the measured data there is nothing to predict.
HEADROOM_GROUNDTRUTH=$PWD/none "$HEADROOM_SOURCE_DIR/scripts/arena.sh" --run >said.txt
grep -q '^skipped: no measured data sets' said.txt || fail "$(cat said.txt)"
