# Libraries for WebAssembly. Debian has no builds of them for it, so the headers of the host's
# packages are used (all they hold is templates and inline functions) and yaml-cpp is compiled from
# its source, which scripts/playground.sh fetches. zlib and SQLite are declared but not there:
# browsers unpack gzip themselves, and no result is stored.
set(HEADROOM_YAML_CPP "" CACHE PATH "Source of yaml-cpp 0.7, for WebAssembly")
if(NOT EXISTS "${HEADROOM_YAML_CPP}/include/yaml-cpp/yaml.h")
  message(FATAL_ERROR "HEADROOM_YAML_CPP=${HEADROOM_YAML_CPP}: no source of yaml-cpp there")
endif()

# Of the host's headers, these alone: its C library must not be seen.
set(wasm_headers ${PROJECT_BINARY_DIR}/host_headers)
file(MAKE_DIRECTORY ${wasm_headers})
foreach(name IN ITEMS boost fmt nlohmann sqlite3.h zconf.h zlib.h)
  find_path(HEADROOM_HOST_${name} ${name} PATHS /usr/include /usr/local/include
            NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${HEADROOM_HOST_${name}}/${name} ${wasm_headers}/${name} SYMBOLIC)
endforeach()

foreach(library IN ITEMS Boost::headers fmt::fmt nlohmann_json::nlohmann_json SQLite::SQLite3
                         Threads::Threads ZLIB::ZLIB)
  add_library(${library} INTERFACE IMPORTED)
  target_include_directories(${library} SYSTEM INTERFACE ${wasm_headers})
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

file(GLOB sources CONFIGURE_DEPENDS ${HEADROOM_YAML_CPP}/src/*.cpp)
add_library(yaml-cpp STATIC ${sources})
target_include_directories(yaml-cpp SYSTEM PUBLIC ${HEADROOM_YAML_CPP}/include)
target_compile_definitions(yaml-cpp PUBLIC YAML_CPP_STATIC_DEFINE)
target_compile_options(yaml-cpp PRIVATE -w)

# Exceptions by WebAssembly's own instructions (Chrome 95, Firefox 100, Safari 15.2).
add_compile_options(-fwasm-exceptions)
add_link_options(-fwasm-exceptions)
# What an older standard library lacks.
add_compile_options("SHELL:-isystem ${PROJECT_SOURCE_DIR}/playground/compat"
  "SHELL:-include ${PROJECT_SOURCE_DIR}/playground/compat/old_libcxx.hpp"
  -I${PROJECT_SOURCE_DIR})
