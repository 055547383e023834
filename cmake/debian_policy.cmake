# Run by CPack in the folder of a package's files before Debian packages are made of them: copyright
# and changelog of each package, compressed manual and documents, no licence beside the copyright.
set(names_program headroom)
set(names_library ${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME})
set(names_dev ${CPACK_DEBIAN_DEV_PACKAGE_NAME})

foreach(component IN ITEMS program library dev)
  set(prefix ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(documents ${prefix}/share/doc/${names_${component}})
  file(MAKE_DIRECTORY ${documents})
  file(COPY_FILE $ENV{HEADROOM_WORK}/copyright ${documents}/copyright)
  file(COPY_FILE $ENV{HEADROOM_WORK}/changelog ${documents}/changelog)
  set(compressed ${documents}/changelog)
  if(component STREQUAL program)
    file(REMOVE ${documents}/LICENSE ${documents}/NOTICE-kernel-times)
    list(APPEND compressed ${prefix}/share/man/man1/headroom.1)
    # Debian's place for completions of zsh.
    file(MAKE_DIRECTORY ${prefix}/share/zsh/vendor-completions)
    file(RENAME ${prefix}/share/zsh/site-functions/_headroom
         ${prefix}/share/zsh/vendor-completions/_headroom)
    file(REMOVE_RECURSE ${prefix}/share/zsh/site-functions)
  endif()
  execute_process(COMMAND gzip -9n ${compressed} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
