# Debian packages of the program, the library and its development files:
#
#   cpack -G DEB --config cmake/DebianPackages.cmake
#
# with HEADROOM_VERSION, HEADROOM_WORK (a folder for packages) and HEADROOM_MAINTAINER ("Name
# <address>") in the environment: CPack reads -D after this file. The program comes from
# build/program, the library from build/packages. scripts/release/deb.sh is the caller.
set(HEADROOM_VERSION $ENV{HEADROOM_VERSION})
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH HEADROOM_SOURCE)
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_DESCRIPTION "Discrete-event simulator of LLM serving")
set(CPACK_PACKAGE_VENDOR "Headroom maintainers")
set(CPACK_PACKAGE_CONTACT $ENV{HEADROOM_MAINTAINER})
set(CPACK_PACKAGE_VERSION ${HEADROOM_VERSION})
# Of folders inside; DEB-DEFAULT names the packages.
set(CPACK_PACKAGE_FILE_NAME headroom-${HEADROOM_VERSION})
set(CPACK_PACKAGE_DIRECTORY $ENV{HEADROOM_WORK})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${HEADROOM_SOURCE}/build/program;headroom;program;/"
  "${HEADROOM_SOURCE}/build/packages;headroom;library;/"
  "${HEADROOM_SOURCE}/build/packages;headroom;dev;/")
# What Debian's policy asks of a package and no install rule does.
set(CPACK_PRE_BUILD_SCRIPTS ${HEADROOM_SOURCE}/cmake/debian_policy.cmake)

set(CPACK_COMPONENTS_ALL program library dev)
# The components of a project above, by the name of its third part.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  set(CPACK_COMPONENTS_${name} ${component})
endforeach()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" interface "${HEADROOM_VERSION}")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME headroom)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "discrete-event simulator of LLM serving
Headroom runs traffic through the scheduler and the KV cache of an inference
engine on a model of a machine: how fast requests are answered, how many fit,
and when memory runs out. It needs no GPU.")
# Certificates, for servers measured over https.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ca-certificates)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libheadroom${interface})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA $ENV{HEADROOM_WORK}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "simulator of LLM serving, as a C++ library
What programs load that simulate the serving of large language models with
Headroom.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libheadroom-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libheadroom${interface} (= ${HEADROOM_VERSION})")
# The archive needs what Headroom is built with, the shared library does not.
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS
  "libfmt-dev, libsqlite3-dev, libyaml-cpp-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "simulator of LLM serving, development files
Header, archive and CMake package of Headroom's C++ library:
find_package(Headroom).")
