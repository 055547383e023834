# Libraries are linked as archives, so that what is built holds them. Included before any library is
# looked for.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(OPENSSL_USE_STATIC_LIBS ON)

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
