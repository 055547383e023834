#!/usr/bin/env bash
# What can be wrong with a study and with its results: one line, exit code 2, data kept.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

small_scenario >small.json
study() { # study VARY [MORE]: writes study.json
  printf '{"base": "small.json", "vary": [%s]%s}' "$1" "${2:-}" >study.json
}
sweep() { "$HEADROOM" sweep study.json "$@"; }
seqs='{"path": "engine.max_num_seqs", "values": [2, 4]}'

# The study
expect_error 'no-such: no such file, and no built-in study' "$HEADROOM" sweep no-such
study '{"path": "engine.max_num_seq", "values": [1]}'
expect_error 'study.json: /vary/0/path: value "engine.max_num_seq": no such option' sweep -o x.db
study '{"path": "engine.max_num_seqs", "range": {"from": 9, "to": 1, "step": 1}}'
expect_error 'an empty range' sweep -o x.db
study '{"path": "engine.max_num_seqs", "values": [2, "many"]}'
expect_error 'study.json: /vary/0/values/1: /engine/max_num_seqs: value "many"' sweep -o x.db
study '{"path": "engine.tensor_parallel_size", "values": [1, 7]}'
expect_error '(point 1: engine.tensor_parallel_size = 7)' sweep -o x.db
study "$seqs" ', "base": "small.json"'
expect_error 'study.json: /base: duplicate key' sweep -o x.db
study "$seqs"
expect_error '--set engine.max_num_seqs=3: has no effect' sweep --set engine.max_num_seqs=3 -o x.db
expect_error '/engine/max_num_seq: unknown key (nearest: max_num_seqs)' \
  sweep --set engine.max_num_seq=3 -o x.db
expect_error '--shard 3/2: expected i/n' sweep --shard 3/2 -o x.db
expect_error '-j 0: expected 1 to' sweep -j 0 -o x.db
[[ ! -e x.db && ! -e results ]] || fail 'a study that is wrong left a file'

# The file of results
sweep -o good.db >/dev/null
cp good.db kept.db
expect_error 'good.db: already exists' sweep -o good.db
expect_error 'good.db: results of a different study' sweep -o good.db --resume --set seed=7
cp good.db schema.db
sqlite3 schema.db "UPDATE meta SET value = '9' WHERE key = 'schema_version'"
expect_error 'schema.db: results of schema version 9' sweep -o schema.db --resume
cp good.db version.db
sqlite3 version.db "UPDATE meta SET value = '0.0.1' WHERE key = 'headroom_version'"
expect_error 'version.db: results of headroom 0.0.1' sweep -o version.db --resume
cp good.db point.db
sqlite3 point.db 'UPDATE runs SET point = 99 WHERE run = 1'
expect_error 'point.db: damaged: table runs: point 99: the study has 2' sweep -o point.db --resume
expect_error 'point.db: damaged: table runs: point 99' "$HEADROOM" merge m.db point.db
head -c 9000 good.db >cut.db
expect_error 'cut.db: damaged or truncated' sweep -o cut.db --resume
[[ $(stat -c %s cut.db) == 9000 ]] || fail 'a damaged file was changed'
cp study.json no.db
expect_error 'no.db: not a database' sweep -o no.db --resume
rm no.db
sqlite3 other.db 'CREATE TABLE t(x)'
expect_error "other.db: a database, but not a study's results" sweep -o other.db --resume
expect_error 'no/such/x.db: cannot open' sweep -o no/such/x.db
mkdir folder
expect_error 'folder: already exists' sweep -o folder
expect_error 'folder: a folder, not a file' sweep -o folder --resume
if [[ $EUID != 0 ]]; then
  mkdir closed && chmod 555 closed
  expect_error 'closed/x.db: cannot open' sweep -o closed/x.db
  cp good.db readonly.db && chmod 444 readonly.db
  expect_error 'readonly.db: cannot write: it is read-only' sweep -o readonly.db --resume
fi

# Somebody else has it: the lock is held until the pipe to sqlite3 is closed.
cp good.db locked.db
mkfifo commands
sqlite3 locked.db <commands >locked.txt &
exec 7>commands
printf "BEGIN EXCLUSIVE;\nSELECT 'held';\n" >&7
for _ in $(seq 100); do
  [[ -s locked.txt ]] && break
  sleep 0.05
done
expect_error 'locked.db: locked: another program is using it' sweep -o locked.db --resume
exec 7>&-
wait

# No file may grow beyond 40 blocks of 1 KiB: what was stored before is there, and it goes on.
study '{"path": "engine.max_num_seqs", "range": {"from": 1, "to": 30, "step": 1}}'
code=0
bash -c 'ulimit -f 40; exec "$HEADROOM" sweep study.json -j 1 -o full.db' >/dev/null 2>err.txt ||
  code=$?
[[ $code == 2 ]] || fail "a full disk: exit code $code: $(cat err.txt)"
grep -q 'full.db: .* kept' err.txt || fail "a full disk: $(cat err.txt)"
sweep -o whole.db >/dev/null
sweep -o full.db --resume >/dev/null
cmp <(sqlite3 full.db .dump) <(sqlite3 whole.db .dump) || fail 'after a full disk'

# merge
study "$seqs"
sweep -o a.db --shard 1/2 >/dev/null
expect_error 'whole.db: cannot be merged: a.db holds results of a different study' \
  "$HEADROOM" merge m.db a.db whole.db
expect_error 'cut.db: damaged or truncated' "$HEADROOM" merge m.db cut.db
expect_error 'no.db: cannot open' "$HEADROOM" merge m.db a.db no.db
expect_error 'a.db: named twice' "$HEADROOM" merge m.db a.db ./a.db
expect_error 'good.db: already exists' "$HEADROOM" merge good.db a.db
cp good.db changed.db
sqlite3 changed.db "UPDATE runs SET digest = 'x' WHERE run = 0"
expect_error 'changed.db: run 0 has different results here' "$HEADROOM" merge m.db a.db changed.db
[[ ! -e m.db && -z $(find . -name '*.partial-*') ]] || fail 'a failed merge left a file'
cmp good.db kept.db || fail 'an error changed a file of results'
