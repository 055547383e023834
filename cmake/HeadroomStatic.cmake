# Programs that need nothing of the machine they run on: every library is linked as an archive, the
# C library too. What HEADROOM_STATIC changes about the libraries is all in this file.
#
# The linker writes a map beside each program (bin/NAME.map): which archives it took members of.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(OPENSSL_USE_STATIC_LIBS ON)
add_link_options(-static-pie -Wl,-Map=${PROJECT_BINARY_DIR}/bin/$<TARGET_PROPERTY:NAME>.map)

# Debian has no archive of {fmt}, so it is compiled from its headers. FMT_SHARED only makes flags
# and so objects the same as those of other builds, which ccache then has.
configure_file(${CMAKE_CURRENT_LIST_DIR}/fmt.cpp.in ${PROJECT_BINARY_DIR}/fmt.cpp COPYONLY)
add_library(headroom_fmt STATIC ${PROJECT_BINARY_DIR}/fmt.cpp)
set_target_properties(headroom_fmt PROPERTIES UNITY_BUILD OFF)
target_compile_definitions(headroom_fmt INTERFACE FMT_SHARED)
add_library(fmt::fmt ALIAS headroom_fmt)

find_library(HEADROOM_YAML_CPP_ARCHIVE yaml-cpp REQUIRED)
add_library(yaml-cpp STATIC IMPORTED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${HEADROOM_YAML_CPP_ARCHIVE})
