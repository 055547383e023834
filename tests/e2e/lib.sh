# What the end-to-end scripts share. They run in an empty folder; HEADROOM = the program.
set -euo pipefail
: "${HEADROOM:?path of the program}"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect_error TEXT COMMAND...: exit code 2, one line on stderr with TEXT in it, nothing on stdout.
expect_error() {
  local text=$1 code=0
  shift
  "$@" >stdout.txt 2>stderr.txt || code=$?
  [[ $code == 2 ]] || fail "exit code $code instead of 2: $*: $(cat stderr.txt)"
  [[ $(wc -l <stderr.txt) == 1 ]] || fail "not one line: $*: $(cat stderr.txt)"
  grep -qF -- "$text" stderr.txt || fail "'$text' is not in: $(cat stderr.txt)"
  [[ ! -s stdout.txt ]] || fail "output beside the error: $*"
  rm stdout.txt stderr.txt
}

# nothing_left: no result and no temporary folder anywhere below this folder.
nothing_left() {
  local found
  found=$(find . -name '*.partial-*' -o -name summary.json -o -name requests.csv -o -name results)
  [[ -z $found ]] || fail "left behind: $found"
}

# number FILE KEY: the first value of that key.
number() {
  sed -n "s/^ *\"$2\": \([-0-9.e+]*\),\{0,1\}$/\1/p" "$1" | head -n 1
}

# accounted FILE: every request that arrived left in exactly one way.
accounted() {
  local sum=0 kind
  for kind in finished rejected cancelled lost_to_oom unfinished; do
    sum=$((sum + $(number "$1" $kind)))
  done
  [[ $sum == $(number "$1" arrived) ]] || fail "$1: arrived $(number "$1" arrived), accounted $sum"
}

# A small valid scenario, to be changed with --set.
small_scenario() {
  cat <<'JSON'
{
  "name": "small",
  "model": "llama-3.1-8b",
  "device": "h100-sxm",
  "engine": {"name": "vllm", "max_model_len": 4096},
  "workload": {
    "arrivals": {"process": "poisson", "request_rate": 20},
    "num_requests": 200,
    "prompt": {"law": "uniform", "min": 10, "max": 500},
    "output": {"law": "uniform", "min": 1, "max": 200},
    "max_tokens": {"rule": "value", "value": 200}
  }
}
JSON
}

# named_scenario JSON: the same with this text as its name, as it is written in JSON.
named_scenario() {
  small_scenario |
    NAME=$1 awk '/"name": "small"/ { $0 = "\"name\": " ENVIRON["NAME"] "," } { print }'
}
