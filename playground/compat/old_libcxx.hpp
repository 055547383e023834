#pragma once
// Included before every file of the WebAssembly build. Emscripten 3.1.6 (Debian 12) brings
// libc++ 13, which lacks parts of C++20 that the simulator uses. Nothing below is compiled with a
// library that has them.

#include <version>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000
#include "playground/compat/libcxx_algorithms.hpp"
#include "playground/compat/libcxx_compare.hpp"
#endif
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 20000
#include "playground/compat/libcxx_numbers.hpp"
#endif
#if defined(_LIBCPP_VERSION) && !defined(__cpp_lib_jthread)
#include "playground/compat/libcxx_threads.hpp"
#endif
