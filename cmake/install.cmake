# What `cmake --install` puts where, by component: library, dev, compat, cuda where nvcc is, and tools in cli/. An installation may be moved as a whole; CPack makes one Debian
# package of each component (cmake/packages.cmake).
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/openaclnn) # a folder of their own: acl/ is also the name of Linux's access control lists
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/openaclnn)
set(compat ${CMAKE_INSTALL_LIBDIR}/openaclnn/cann-compat)

target_include_directories(openaclnn PUBLIC # operator headers are also included by their bare names
  $<INSTALL_INTERFACE:${headers}> $<INSTALL_INTERFACE:${headers}/aclnn> $<INSTALL_INTERFACE:${headers}/aclnnop>)
if(NOT PROJECT_IS_TOP_LEVEL) # a project that contains the sources may use the same names
  target_include_directories(openaclnn INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/aclnn> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/aclnnop>)
endif()
if(NOT OPENACLNN_INSTALL)
  return()
endif()
install(TARGETS openaclnn EXPORT openaclnn
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
if(NOT OPENACLNN_PACKAGES) # each Debian package has a copyright file instead
  install(FILES LICENSE NOTICE THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
endif()
install(DIRECTORY include/ DESTINATION ${headers} COMPONENT dev)

install(EXPORT openaclnn NAMESPACE openaclnn:: FILE openaclnn-library.cmake DESTINATION ${package} COMPONENT dev)
configure_package_config_file(cmake/openaclnn-config.cmake.in openaclnn-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(openaclnn-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/openaclnn-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/openaclnn-config-version.cmake
  DESTINATION ${package} COMPONENT dev)

file(RELATIVE_PATH OPENACLNN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/openaclnn.pc.in openaclnn.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/openaclnn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

if(TARGET openaclnn_cuda) # the library looks for it there
  install(TARGETS openaclnn_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/openaclnn COMPONENT cuda)
  if(SKBUILD) # the wheel openaclnn-cuda, whose pyproject.toml can't name files above its folder
    install(FILES LICENSE NOTICE THIRD_PARTY_NOTICES DESTINATION ${SKBUILD_METADATA_DIR}/licenses COMPONENT cuda)
  endif()
endif()

if(OPENACLNN_STUB_TARGETS)
  install(TARGETS ${OPENACLNN_STUB_TARGETS} EXPORT openaclnn-compat LIBRARY DESTINATION ${compat}/lib64 COMPONENT compat)
  install(EXPORT openaclnn-compat NAMESPACE openaclnn:: FILE openaclnn-compat.cmake DESTINATION ${package} COMPONENT compat)
  install(FILES src/compat/set_env.sh DESTINATION ${compat} COMPONENT compat)
  file(RELATIVE_PATH to_headers /${compat} /${headers})
  set(machine ${CMAKE_SYSTEM_PROCESSOR}-linux)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${compat}\")
    file(MAKE_DIRECTORY \"\${folder}/${machine}\")
    file(CREATE_LINK ${to_headers} \"\${folder}/include\" SYMBOLIC)
    file(CREATE_LINK ../lib64 \"\${folder}/${machine}/lib64\" SYMBOLIC)
    file(CREATE_LINK ../include \"\${folder}/${machine}/include\" SYMBOLIC)" COMPONENT compat)
endif()
