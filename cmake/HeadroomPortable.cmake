# headroom_portable(TARGET PYTHON): links a Python module for other machines. It holds every
# library but the C library, and of that it needs what glibc 2.27 had (RHEL 8, Debian 10 and Ubuntu
# 18.04, or later).
#
# The linker chooses the newest version of each symbol that it finds in the C library, which older
# systems lack. Here it finds libraries without the newer ones (python/old_glibc.py makes them), and
# python/old_glibc.cpp defines what had no version then. The machine's own C library is not linked,
# so whatever is missing stays undefined and fails the build.
set(HEADROOM_OLDEST_GLIBC 2.27)

function(headroom_portable target python)
  set(script ${PROJECT_SOURCE_DIR}/python/old_glibc.py)
  set(folder ${PROJECT_BINARY_DIR}/old_glibc)
  set(names libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 ld-linux-x86-64.so.2)
  list(TRANSFORM names PREPEND ${folder}/ OUTPUT_VARIABLE libraries)
  add_custom_command(
    OUTPUT ${libraries}
    COMMAND ${python} -B ${script} libraries ${HEADROOM_OLDEST_GLIBC} ${folder}
            ${CMAKE_CXX_COMPILER}
    DEPENDS ${script}
    COMMENT "Making libraries with the symbols of glibc ${HEADROOM_OLDEST_GLIBC}"
    VERBATIM)
  add_custom_target(headroom_old_glibc DEPENDS ${libraries})
  add_dependencies(${target} headroom_old_glibc)

  # The unwinder stays shared: a process has one, and glibc keeps what it needs.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
                  OUTPUT_VARIABLE libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libc_nonshared.a
                  OUTPUT_VARIABLE nonshared OUTPUT_STRIP_TRAILING_WHITESPACE)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/python/old_glibc.cpp)
  target_link_options(${target} PRIVATE -nodefaultlibs -Wl,--as-needed
    -Wl,-Map=${PROJECT_BINARY_DIR}/bin/${target}.map)
  # Behind everything else. The calling folder links nothing but this module.
  list(JOIN libraries " " libraries_text)
  set(CMAKE_CXX_STANDARD_LIBRARIES
    "${libstdcxx} -lgcc ${libraries_text} -lgcc_s ${nonshared}" PARENT_SCOPE)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${libraries})
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${python} -B ${script} check ${HEADROOM_OLDEST_GLIBC} $<TARGET_FILE:${target}>
    VERBATIM)
endfunction()
