# The folders of an installation, CMAKE_INSTALL_LIBDIR and others.
include(GNUInstallDirs)
# Every place is relative to the prefix, so that an installation can be moved. Some packagers pass absolute ones.
foreach(dir BINDIR LIBDIR INCLUDEDIR DATADIR DOCDIR MANDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    file(RELATIVE_PATH relative "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_${dir}}")
    if(relative MATCHES "^\\.\\.")
      message(FATAL_ERROR "CMAKE_INSTALL_${dir} is ${CMAKE_INSTALL_${dir}}; it must be relative, or below CMAKE_INSTALL_PREFIX, ${CMAKE_INSTALL_PREFIX}")
    endif()
    set(CMAKE_INSTALL_${dir} ${relative})
  endif()
endforeach()
