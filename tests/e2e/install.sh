#!/usr/bin/env bash
# The installed program needs nothing of the source tree, the build folder or the caller's folder.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

prefix=$PWD/prefix
cmake --install "$HEADROOM_BUILD_DIR" --prefix "$prefix" >/dev/null
for file in bin/headroom share/headroom/scenarios/demo.json share/doc/headroom/README.md \
  share/doc/headroom/LICENSE share/doc/headroom/semantics.md share/man/man1/headroom.1 \
  share/bash-completion/completions/headroom share/zsh/site-functions/_headroom \
  share/fish/vendor_completions.d/headroom.fish; do
  [[ -s $prefix/$file ]] || fail "not installed: $file"
done

mkdir elsewhere
cd elsewhere
"$prefix/bin/headroom" run demo -o by-name >/dev/null
"$prefix/bin/headroom" run "$prefix/share/headroom/scenarios/demo.json" -o by-file >/dev/null
"$HEADROOM" run demo -o built >/dev/null
for file in summary.json requests.csv; do
  cmp "built/$file" "by-name/$file" || fail "$file differs after installation"
  cmp "built/$file" "by-file/$file" || fail "$file differs when the scenario is given as a file"
done
