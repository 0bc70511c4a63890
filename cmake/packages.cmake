# Debian packages, one per component of cmake/install.cmake: `./dev package`, or cpack in a build with the prefix /usr.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The openaclnn authors <maintainers@openaclnn.example>")
set(CPACK_PACKAGE_VENDOR openaclnn)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH where that is set
find_program(GZIP gzip REQUIRED)

# deb_package(component PACKAGE name SECTION section SUMMARY line TEXT lines… [DEPENDS components…])
function(deb_package component)
  cmake_parse_arguments(DEB "" "PACKAGE;SECTION;SUMMARY" "TEXT;DEPENDS" ${ARGN})
  list(JOIN DEB_TEXT "\n" DEB_TEXT)
  string(TOUPPER ${component} COMPONENT)
  foreach(setting
      "PACKAGE_NAME ${DEB_PACKAGE}" "PACKAGE_SECTION ${DEB_SECTION}" "DESCRIPTION ${DEB_SUMMARY}\n${DEB_TEXT}")
    string(REGEX MATCH "^[A-Z_]+" key "${setting}")
    string(REGEX REPLACE "^[A-Z_]+ " "" value "${setting}")
    set(CPACK_DEBIAN_${COMPONENT}_${key} "${value}" PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENT_${COMPONENT}_DEPENDS ${DEB_DEPENDS} PARENT_SCOPE)
  # The files that Debian requires in every package's folder.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/debian/${DEB_PACKAGE})
  set(package ${DEB_PACKAGE})
  configure_file(cmake/debian/changelog.in ${folder}/changelog.Debian)
  execute_process(COMMAND ${GZIP} -9nf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${folder}/changelog.Debian.gz cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${DEB_PACKAGE}
    COMPONENT ${component})
endfunction()

deb_package(library PACKAGE libopenaclnn1 SECTION libs
  SUMMARY "training operators of CANN's aclnn interface without an NPU"
  TEXT "Fused Adam with an average of the weights, gradients of embeddings, of"
       "grouped biases and of the token compression of native sparse attention,"
       "with their forwards, behind the C interface that they have on Ascend NPUs."
       "Results have the same bits on every machine and for every number of"
       "threads.")
deb_package(dev PACKAGE libopenaclnn-dev SECTION libdevel DEPENDS library
  SUMMARY "headers for training operators of CANN's aclnn interface"
  TEXT "The C headers of the interface, and what CMake and pkg-config need to find"
       "the library.")
deb_package(compat PACKAGE openaclnn-cann-compat SECTION libdevel DEPENDS library dev
  SUMMARY "stand-in for the CANN toolkit"
  TEXT "A folder with the layout, the header names and the library names of the"
       "CANN toolkit, in which all names lead to openaclnn. It builds and runs"
       "programs for CANN without changes, on machines without an NPU.")
deb_package(tools PACKAGE openaclnn-tools SECTION utils DEPENDS library
  SUMMARY "run and examine training operators of CANN's aclnn interface"
  TEXT "The program openaclnn: runs operators on files of tensors, checks their"
       "errors, traces programs, examines the installation, explains status codes"
       "and finds what a program for CANN lacks.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}) # where the program's library is found
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian/triggers ${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs "libopenaclnn 1 libopenaclnn1 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_COMPAT_PACKAGE_SHLIBDEPS OFF) # its libraries need nothing; they are filters

set(CPACK_COMPONENTS_ALL library dev compat tools)
if(TARGET openaclnn_cuda)
  deb_package(cuda PACKAGE openaclnn-cuda SECTION libs DEPENDS library
    SUMMARY "aclnn training operators on NVIDIA GPUs (experimental)"
    TEXT "A plugin that libopenaclnn1 opens if a GPU and its driver are available. The"
         "same programs then run on the GPU. It contains the CUDA runtime; only the"
         "driver has to be installed. Tested on one NVIDIA H100; other GPUs and the newest"
         "kernels are experimental.")
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
include(CPack)
