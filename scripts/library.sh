#!/usr/bin/env bash
# Builds the C++ library, installs it into a temporary folder and tests what is there: a program
# builds against it, and no name but those of the public header is visible.
#   scripts/library.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" program
cd "$root"
cmake --preset library >/dev/null
cmake --build --preset library

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "library.sh: $1" >&2
  exit 1
}
cmake --install build/library --prefix "$work/prefix" >/dev/null
# What stands between ```cpp and ``` of the page.
sed -n '/^```cpp$/,/^```$/{/^```/!p}' docs/library.md >"$work/page.cpp"
# Statements that the page shows, between ```c++ and ```.
{
  printf '#include <cstdio>\n#include <headroom/headroom.hpp>\nint main() {\n'
  echo '  using namespace headroom::api;'
  echo '  const Simulator simulator;'
  echo '  const Scenario scenario = Scenario::ready("demo");'
  sed -n '/^```c++$/,/^```$/{/^```/!p}' docs/library.md
  echo '}'
} >"$work/questions.cpp"
cmake -G Ninja -S tests/library -B "$work/example" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release -DPAGE="$work/page.cpp" \
  -DQUESTIONS="$work/questions.cpp" >/dev/null
cmake --build "$work/example" >/dev/null

cd "$work"
for value in 16 64; do
  prefix/bin/headroom run demo --set "engine.max_num_seqs=$value" --json |
    sed -n "s/^  \"digest\": \"\(.*\)\",*/\1/p"
done >digests
for kind in shared static; do
  "example/example_$kind" engine.max_num_seqs 16 64 >"$kind.txt"
  sed 's/.*digest //' "$kind.txt" | cmp - digests || fail "$kind: other digests than the program"
  if "example/example_$kind" engine.max_num_seqs 0 2>error; then fail "$kind: no error"; fi
  grep -q '^/engine/max_num_seqs: ' error || fail "$kind: $(cat error)"
done

example/example_page | tail -n +2 >page.json
prefix/bin/headroom run demo --set engine.max_num_seqs=64 --json | cmp - page.json ||
  fail 'the program of docs/library.md: other bytes than the program'

example/example_questions >questions.txt || fail 'the statements of docs/library.md'
for line in '^vllm serve ' '^p99_ttft_ms < 800: holds$' '^oom == 0: holds$' \
  '^# kubernetes.yaml$'; do
  grep -q "$line" questions.txt || fail "docs/library.md: not printed: $line: $(cat questions.txt)"
done

library=$(find prefix -name libheadroom.so)
# All names that it defines, as C++ writes them.
nm --dynamic --defined-only --demangle "$library" | cut -d ' ' -f 3- >names
if grep -v -E '^((vtable|typeinfo|typeinfo name) for )?headroom::api::' names; then
  fail 'these names should not be visible'
fi
# The words of the header that a source defines.
for name in version ready_study ready_plan outcome_names Simulator::run Simulator::plan \
  Scenario::from_json Scenario::set; do
  grep -q "headroom::api::$name" names || fail "not visible: $name"
done
echo "library.sh: $(wc -l <names) names visible; $(stat -Lc %s "$library") bytes shared"
cat shared.txt
