# The library as programs elsewhere use it: one header, one shared and one static library, and
# find_package(Headroom).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(objects "")
foreach(part IN ITEMS kernel options serving metrics scheduler workloads hardware engines scenario
                      resolve intake traces memory fidelity study deploy report_json api)
  list(APPEND objects $<TARGET_OBJECTS:headroom_${part}>)
endforeach()
set(needs fmt::fmt yaml-cpp SQLite::SQLite3 ZLIB::ZLIB Threads::Threads)

add_library(headroom_shared SHARED ${objects})
target_link_libraries(headroom_shared PRIVATE ${needs})
# Of the simulator, the names of the public header alone are visible.
set(exports ${PROJECT_SOURCE_DIR}/sim/api/exports.map)
target_link_options(headroom_shared PRIVATE -Wl,--version-script=${exports} -Wl,-z,defs)
# Before 1.0, a minor version may change what programs are compiled against.
set_target_properties(headroom_shared PROPERTIES LINK_DEPENDS ${exports}
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

add_library(headroom_static STATIC ${objects})
target_link_libraries(headroom_static PRIVATE ${needs})

# Debian has two packages of a library: what programs load, and what they are compiled with.
set(HEADROOM_DEV_COMPONENT library CACHE STRING "Install component of headers and archives")
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Headroom)
foreach(kind IN ITEMS shared static)
  set_target_properties(headroom_${kind} PROPERTIES OUTPUT_NAME headroom EXPORT_NAME ${kind})
  target_compile_features(headroom_${kind} INTERFACE cxx_std_20)
  target_include_directories(headroom_${kind} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS headroom_${kind} EXPORT headroom_${kind}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                  NAMELINK_COMPONENT ${HEADROOM_DEV_COMPONENT}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${HEADROOM_DEV_COMPONENT})
  install(EXPORT headroom_${kind} NAMESPACE Headroom:: FILE headroom-${kind}.cmake
          DESTINATION ${package} COMPONENT ${HEADROOM_DEV_COMPONENT})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/sim/api/headroom.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headroom COMPONENT ${HEADROOM_DEV_COMPONENT})

configure_file(${CMAKE_CURRENT_LIST_DIR}/HeadroomConfig.cmake
               ${PROJECT_BINARY_DIR}/HeadroomConfig.cmake COPYONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HeadroomConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/HeadroomConfig.cmake
              ${PROJECT_BINARY_DIR}/HeadroomConfigVersion.cmake
        DESTINATION ${package} COMPONENT ${HEADROOM_DEV_COMPONENT})
