# Makes find_package(halfstep) work against an installation.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/halfstep)

configure_package_config_file(cmake/halfstepConfig.cmake.in ${PROJECT_BINARY_DIR}/halfstepConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/halfstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/halfstepConfig.cmake ${PROJECT_BINARY_DIR}/halfstepConfigVersion.cmake
              cmake/ThirdParty.cmake cmake/ProtobufConfig.cmake
        DESTINATION ${package_dir})
install(EXPORT halfstepCoreTargets NAMESPACE halfstep:: DESTINATION ${package_dir})
install(EXPORT halfstepTargets NAMESPACE halfstep:: DESTINATION ${package_dir})
install(FILES halfstep/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halfstep)
install(FILES LICENSE NOTICE THIRD_PARTY_NOTICES.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
