# SPDX-License-Identifier: Apache-2.0
# `cmake --install` puts the layers, their headers and what find_package(kasimir CONFIG) reads below the prefix. The
# layer `train` needs torch, so it has targets of its own, which only COMPONENTS train reads.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(KASIMIR_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kasimir)

foreach(layer IN LISTS KASIMIR_LAYERS)
  set(set kasimirTargets)
  if(layer STREQUAL train)
    set(set kasimirTrainTargets)
  endif()
  set_target_properties(kasimir_${layer} PROPERTIES EXPORT_NAME ${layer})
  install(TARGETS kasimir_${layer} EXPORT ${set}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endforeach()
install(EXPORT kasimirTargets NAMESPACE kasimir:: DESTINATION ${KASIMIR_PACKAGE_DIR} COMPONENT development)
if(KASIMIR_WITH_TORCH)
  install(EXPORT kasimirTrainTargets NAMESPACE kasimir:: DESTINATION ${KASIMIR_PACKAGE_DIR} COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/torch.cmake ${PROJECT_SOURCE_DIR}/cmake/torch_facts.py
    DESTINATION ${KASIMIR_PACKAGE_DIR} COMPONENT development)
  install(TARGETS kasimir RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/kasimir/zoo DESTINATION ${CMAKE_INSTALL_DATADIR}/kasimir COMPONENT program)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kasimirConfig.cmake.in
  ${PROJECT_BINARY_DIR}/kasimirConfig.cmake INSTALL_DESTINATION ${KASIMIR_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kasimirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kasimirConfig.cmake ${PROJECT_BINARY_DIR}/kasimirConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/soci.cmake DESTINATION ${KASIMIR_PACKAGE_DIR} COMPONENT development)
