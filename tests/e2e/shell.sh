#!/usr/bin/env bash
# Man page and completions hold the commands and options that --help shows.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$HEADROOM" manual >headroom.1
for shell in bash zsh fish; do "$HEADROOM" completion "$shell" >"completion.$shell"; done
expect_error 'completion: value tcsh: expected bash, zsh or fish' "$HEADROOM" completion tcsh

mapfile -t commands < <("$HEADROOM" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[[ ${#commands[@]} -gt 15 ]] || fail "too few commands: ${commands[*]}"
for command in "${commands[@]}" 'fleet plan' 'trace describe'; do
  # shellcheck disable=SC2086
  "$HEADROOM" $command --help >help
  mapfile -t options < <(grep -oE '^  (-[a-z], ?)?--[a-z-]+' help | grep -oE -- '--[a-z-]+')
  grep -q "^\.SS ${command}$" headroom.1 || fail "no $command in the man page"
  for option in "${options[@]}"; do
    sed -n "/^\.SS ${command}$/,/^\.S[SH] /p" headroom.1 | grep -qF -- "${option//-/\\-}" ||
      fail "$command $option is not in the man page"
    grep -qE -- "'$command'\) .*$option( |')" completion.bash || fail "bash: $command $option"
    grep -qF -- "*$option[" completion.zsh || fail "zsh: $option"
    grep -qE -- "-l ${option#--} " completion.fish || fail "fish: $option"
  done
done

bash -n completion.bash
for shell in zsh fish; do
  if command -v "$shell" >/dev/null; then "$shell" -n "completion.$shell"; fi
done
if command -v groff >/dev/null; then
  groff -man -Tutf8 -ww -z headroom.1 2>warnings
  [[ ! -s warnings ]] || fail "$(<warnings)"
fi

source completion.bash
completes() { # the words typed, then what they must complete to
  local expected=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _headroom
  local found
  found=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | xargs)
  [[ $found == "$expected" ]] || fail "$*: $found, expected $expected"
}
completes 'fleet' headroom fl
completes '--json' headroom run demo --js
completes 'demo' headroom run dem
completes 'plan' headroom fleet pl
completes '--threads --trace' headroom fleet plan --t
completes 'chat-fleet' headroom fleet plan chat-f
completes 'completion.bash completion.fish completion.zsh' headroom audit completion.
