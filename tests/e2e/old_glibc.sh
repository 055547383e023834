#!/usr/bin/env bash
# A module linked as wheels are (python/old_glibc.py) needs no newer symbol of the C library than it
# was told, and one that cannot do without is refused.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
script=$HEADROOM_SOURCE_DIR/python/old_glibc.py
compiler=${CXX:-g++}
for command in readelf "$compiler" python3; do
  if ! command -v "$command" >/dev/null; then
    echo "skipped: no $command here"
    exit 77
  fi
done
here=$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)
if [[ $(uname -m) != x86_64 || $(printf '2.34\n%s\n' "$here" | sort -V | head -n 1) != 2.34 ]]; then
  echo 'skipped: not x86-64, or its C library is too old to need anything'
  exit 77
fi
old_glibc() { python3 -B "$script" "$@"; }

# glibc 2.34 gave pthread_create a new version, 2.33 stat its first one, 2.29 exp a second one.
cat >module.cpp <<'CPP'
#include <pthread.h>
#include <sys/stat.h>

#include <cmath>

extern "C" double module(const char* path, double x) {
  struct stat found{};
  pthread_t thread{};
  void* result = nullptr;
  if (pthread_create(&thread, nullptr, [](void* in) { return in; }, &thread) != 0) return -1;
  if (pthread_join(thread, &result) != 0 || result != &thread) return -1;
  return stat(path, &found) + std::exp(x);
}
CPP
"$compiler" -std=c++20 -O1 -fPIC -fno-exceptions -c module.cpp -o module.o
"$compiler" -std=c++20 -O1 -fPIC -fno-exceptions -c "$HEADROOM_SOURCE_DIR/python/old_glibc.cpp" \
  -o old_glibc.o

"$compiler" -shared module.o -o new.so -lm
if old_glibc check 2.27 new.so 2>error.txt; then fail 'a module for a new glibc passes'; fi
for line in 'pthread_create of glibc 2.34' 'stat of glibc 2.33' 'exp of glibc 2.29'; do
  grep -qF "$line" error.txt || fail "not '$line': $(cat error.txt)"
done
old_glibc check "$here" new.so || fail 'the module is refused for its own glibc'

old_glibc libraries 2.27 then "$compiler"
"$compiler" -shared -nodefaultlibs module.o old_glibc.o -o old.so then/*.so.[0-9] -lgcc
old_glibc check 2.27 old.so || fail 'a module for an old glibc is refused'
objdump -T old.so >symbols.txt
grep -q 'GLIBC_2.2.5) __xstat$' symbols.txt || fail "stat is not __xstat: $(cat symbols.txt)"
python3 - <<'PY' || fail 'the module for an old glibc does not run here'
import ctypes
module = ctypes.CDLL("./old.so").module
module.restype = ctypes.c_double
assert module(b"/", ctypes.c_double(0)) == 1
PY

"$compiler" -shared -nodefaultlibs module.o -o missing.so then/*.so.[0-9] -lgcc
if old_glibc check 2.27 missing.so 2>error.txt; then fail 'a module without stat passes'; fi
grep -qF 'stat, which glibc did not have' error.txt || fail "$(cat error.txt)"
