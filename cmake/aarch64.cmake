# Toolchain: on Debian, static programs for 64-bit Arm (Grace, GB10, Jetson, Graviton). The
# compiler is Debian's (g++-aarch64-linux-gnu). scripts/release/arm64_libraries.sh puts Debian's
# libraries for it into the folder HEADROOM_ARM64 (build/arm64); none is installed on this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(HEADROOM_ARM64 ${CMAKE_CURRENT_LIST_DIR}/../build/arm64 CACHE PATH "Debian's arm64 libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEADROOM_ARM64)
cmake_path(ABSOLUTE_PATH HEADROOM_ARM64 NORMALIZE)
if(NOT EXISTS ${HEADROOM_ARM64}/usr/lib/aarch64-linux-gnu)
  message(FATAL_ERROR "HEADROOM_ARM64=${HEADROOM_ARM64}: no libraries there; "
                      "scripts/release/arm64_libraries.sh ${HEADROOM_ARM64} puts them there")
endif()
# The C library, too, is that of the folder, as an archive: it has Debian's security updates, which
# the compiler's has not.
set(archives ${HEADROOM_ARM64}/usr/lib/aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-pie -L${archives} -B${archives}")

set(CMAKE_FIND_ROOT_PATH ${HEADROOM_ARM64})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
