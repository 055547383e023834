# Compile options every target of the project shares, and the two functions that declare targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Without NDEBUG: checks are always on. What runs per event is long and straight: what -O3 unrolls
# and duplicates of it takes 1 to 3 % longer.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

option(HEADROOM_WERROR "Treat warnings as errors" ON)
set(HEADROOM_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

# The programs that people run (4 to 6 % less time); tests would each be optimised anew.
option(HEADROOM_LTO "Optimise across files when linking, where compiler and linker can" OFF)
if(HEADROOM_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT CMAKE_INTERPROCEDURAL_OPTIMIZATION LANGUAGES CXX)
  if(NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
    message(STATUS "Not optimised across files: ${CMAKE_CXX_COMPILER_ID} cannot do it here")
  endif()
endif()

find_program(HEADROOM_CCACHE ccache)
if(HEADROOM_CCACHE)
  # The sloppiness is what ccache needs to take a precompiled header into account.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros ${HEADROOM_CCACHE})
endif()

# Same bytes everywhere: no contraction of a*b+c, no flags of the build machine's processor, and no
# path of the build machine in messages (__FILE__ is relative to the repository). Off are two
# warnings that g++ 12 raises in error at -O3: inside {fmt} 9's parser and std::string's operator+
# (GCC bug 105651).
add_library(headroom_flags INTERFACE)
target_compile_options(headroom_flags INTERFACE
  -ffp-contract=off -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${HEADROOM_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# On Arm `char` is unsigned unless told otherwise, and comparisons of bytes would go another way.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm)")
  target_compile_options(headroom_flags INTERFACE -fsigned-char)
endif()
# x86 code of the same instructions, chosen and ordered for processors of these years instead of for
# all there ever were: 6 % less time on such a one.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mtune=sapphirerapids HEADROOM_HAS_TUNING)
if(HEADROOM_HAS_TUNING)
  target_compile_options(headroom_flags INTERFACE $<$<CONFIG:Release>:-mtune=sapphirerapids>)
endif()
# g++ collects its garbage less often: up to 700 MB for the largest file, a seventh less time.
target_compile_options(headroom_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=500000>)
if(HEADROOM_SANITIZE)
  # Instrumented, g++ 12 takes members of std::function and std::optional for uninitialised. Two
  # checks that go before every access are left out, a quarter of the compile time: one through a
  # null pointer ends the program in any case, and no object lies where a cast put it.
  target_compile_options(headroom_flags INTERFACE
    -fsanitize=${HEADROOM_SANITIZE} -fno-sanitize=null,alignment
    -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_definitions(headroom_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(headroom_flags INTERFACE -fsanitize=${HEADROOM_SANITIZE})
endif()
target_include_directories(headroom_flags INTERFACE ${PROJECT_SOURCE_DIR})
# Code that a shared library holds; its calls of its own functions stay within it.
if(HEADROOM_LIBRARY OR HEADROOM_PYTHON)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_compile_options(headroom_flags INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
endif()
# A wheel has to be small: code that runs once per command is compiled for size (two fifths less of
# it), and what nothing calls is left out.
set(HEADROOM_COLD_OPTIMISATION -O1)
if(HEADROOM_PORTABLE)
  set(HEADROOM_COLD_OPTIMISATION -Os)
  target_compile_options(headroom_flags INTERFACE -ffunction-sections -fdata-sections)
endif()

# g++ compiles the libraries whose code runs per event by what it saw runs do: branches fall through
# where they mostly go, and rare code stands apart. The same results, a sixteenth less time.
set(HEADROOM_PROFILE "" CACHE STRING "Empty, or `record` and then `use` (scripts/trained.sh)")
set_property(CACHE HEADROOM_PROFILE PROPERTY STRINGS "" record use)
set(profile_flags -fprofile-dir=${PROJECT_BINARY_DIR}/profile)
if(HEADROOM_PROFILE STREQUAL "record")
  list(APPEND profile_flags -fprofile-generate -fprofile-update=single)
  target_link_options(headroom_flags INTERFACE -fprofile-generate)
elseif(HEADROOM_PROFILE STREQUAL "use")
  list(APPEND profile_flags -fprofile-use -fprofile-partial-training -Wno-missing-profile)
elseif(HEADROOM_PROFILE)
  message(FATAL_ERROR "HEADROOM_PROFILE=${HEADROOM_PROFILE}: expected record, use or nothing")
endif()
if(HEADROOM_PROFILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "HEADROOM_PROFILE needs g++, this is ${CMAKE_CXX_COMPILER_ID}")
endif()

option(HEADROOM_PCH "Precompile what most files include (a file may then lack an include)" OFF)
set(HEADROOM_COMMON_HEADERS <algorithm> <cstdint> <functional> <map> <optional> <string>
    <string_view> <vector> <fmt/format.h>)
# Libraries of equal options share one precompiled header: it takes as long as a library's file.
function(headroom_reuse_pch name kind)
  set(owner headroom_pch_${kind})
  if(NOT TARGET ${owner})
    file(WRITE ${PROJECT_BINARY_DIR}/${owner}.cpp "// Owns a precompiled header.\n")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/${owner}.cpp)
    target_link_libraries(${owner} PRIVATE headroom_flags fmt::fmt)
    headroom_optimise(${owner} ${kind})
    set(headers ${HEADROOM_COMMON_HEADERS})
    if(kind STREQUAL cold)
      list(APPEND headers <nlohmann/json.hpp>)
    endif()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${owner})
endfunction()

# With CMAKE_UNITY_BUILD a dozen files of a library are compiled as one: what the headers bring is
# read, and its templates compiled, once for all of them. So names in anonymous namespaces differ
# within a library. A file may then lack an include, which builds without it find out.
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
endif()

# Structures of a hundred bytes are cleared and copied by a few stores: g++ would use `rep stos`,
# which takes longer to begin than those take. In release builds alone: clang-tidy is told the flags
# of the debug one, and does not know these.
set(plain_copies "vector_loop:256:noalign,libcall:-1:noalign")
check_cxx_compiler_flag("-mmemset-strategy=${plain_copies} -mmemcpy-strategy=${plain_copies}"
  HEADROOM_HAS_COPY_STRATEGIES)

# headroom_library(NAME [COLD] SOURCES a.cpp ... LINKS x y): a static library `headroom_NAME`. COLD:
# its code runs once per command, so that optimising it costs compile time and gains nothing.
function(headroom_library name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;LINKS" ${ARGN})
  add_library(headroom_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(headroom_${name} PUBLIC headroom_flags ${ARG_LINKS})
  set(kind hot)
  if(ARG_COLD)
    set(kind cold)
  endif()
  headroom_optimise(headroom_${name} ${kind})
  if(HEADROOM_PCH)
    headroom_reuse_pch(headroom_${name} ${kind})
  endif()
endfunction()

function(headroom_optimise target kind)
  if(kind STREQUAL cold)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release>:${HEADROOM_COLD_OPTIMISATION}> $<$<CONFIG:RelWithDebInfo>:-O0>)
    return()
  endif()
  if(HEADROOM_HAS_COPY_STRATEGIES)
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release>:-mmemset-strategy=${plain_copies}>
      $<$<CONFIG:Release>:-mmemcpy-strategy=${plain_copies}>)
  endif()
  if(HEADROOM_PROFILE)
    target_compile_options(${target} PRIVATE ${profile_flags})
  endif()
endfunction()

# headroom_tests(LABEL SOURCES a_test.cpp ... LINKS x y): one Catch2 executable, one ctest per test
# case (sanitized: per file). Cases tagged [large] read whole published traces. What they test is
# optimised, unit tests are not: optimising Catch2's macros would cost more compile time than the
# whole program. The others search and replay, and so are where that takes time: released ones.
function(headroom_tests label)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(tests_${label} ${ARG_SOURCES})
  target_link_libraries(tests_${label} PRIVATE ${ARG_LINKS} Catch2::Catch2WithMain)
  set(released -O1)
  if(label STREQUAL unit)
    set(released -O0)
  endif()
  target_compile_options(tests_${label} PRIVATE
    $<$<CONFIG:Release>:${released}> $<$<CONFIG:RelWithDebInfo>:-O0>)
  if(HEADROOM_PCH)
    target_precompile_headers(tests_${label} PRIVATE <catch2/catch.hpp> ${HEADROOM_COMMON_HEADERS})
  endif()
  target_compile_definitions(tests_${label} PRIVATE
    HEADROOM_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    HEADROOM_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  if(HEADROOM_SANITIZE)
    # A sanitized program takes a third of a second to start: one ctest per file, without [large].
    # Catch2 knows files by name alone, so those of one name in two folders run together.
    foreach(source IN LISTS ARG_SOURCES)
      cmake_path(GET source STEM name)
      if(name MATCHES "_test$" AND NOT TEST "${label}:${name}")
        add_test(NAME "${label}:${name}" COMMAND tests_${label} -\# "[\#${name}]~[large]")
        set_tests_properties("${label}:${name}" PROPERTIES LABELS ${label} TIMEOUT 900)
      endif()
    endforeach()
    return()
  endif()
  # A name that selects no test is a failure: CMake splits names at a semicolon.
  catch_discover_tests(tests_${label} TEST_SPEC ~[large] TEST_PREFIX "${label}:"
    EXTRA_ARGS -w NoTests PROPERTIES LABELS ${label} TIMEOUT 300)
  if(label STREQUAL unit)
    catch_discover_tests(tests_${label} TEST_SPEC [large] TEST_PREFIX "${label}:large:"
      EXTRA_ARGS -w NoTests PROPERTIES LABELS ${label} TIMEOUT 300)
  endif()
endfunction()
