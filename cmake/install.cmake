# What `cmake --install` installs, by package: the program (curnm, in cli/CMakeLists.txt), and what programs of others are
# built with (libcurnm-dev): find_package(curnm COMPONENTS core) or COMPONENTS torch.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
include(cmake/public_headers.cmake)

set(CURNM_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/curnm)

# curnm_component(core HEADERS ... LIBRARIES base graph ...): the target curnm::core for users, with
# the libraries of these folders behind it. OTHERS: further targets that they refer to.
function(curnm_component name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES;OTHERS" ${ARGN})
  add_library(curnm_component_${name} INTERFACE)
  set_target_properties(curnm_component_${name} PROPERTIES EXPORT_NAME ${name})
  set(targets curnm_component_${name} ${arg_OTHERS})
  foreach(library ${arg_LIBRARIES})
    target_link_libraries(curnm_component_${name} INTERFACE curnm_${library})
    list(APPEND targets curnm_${library})
  endforeach()
  install(TARGETS ${targets} EXPORT curnm_${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libcurnm-dev
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT curnm_${name} FILE curnm_${name}.cmake NAMESPACE curnm::
          DESTINATION ${CURNM_CONFIG_DIR} COMPONENT libcurnm-dev)
  foreach(header ${arg_HEADERS})
    curnm_check_includes(${header})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES curnm/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/curnm/${folder}
            COMPONENT libcurnm-dev)
  endforeach()
endfunction()

function(curnm_check_includes header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS curnm/${header})
  file(STRINGS curnm/${header} includes REGEX "^#include \"curnm/")
  foreach(line ${includes})
    string(REGEX REPLACE "^#include \"curnm/(.*)\".*" "\\1" included "${line}")
    if(NOT included IN_LIST CURNM_CORE_HEADERS AND NOT included IN_LIST CURNM_TORCH_HEADERS)
      message(FATAL_ERROR "curnm/${header} is public and includes curnm/${included}, which is not: "
                          "see cmake/public_headers.cmake")
    endif()
  endforeach()
endfunction()

curnm_component(core HEADERS ${CURNM_CORE_HEADERS}
                LIBRARIES base graph sampling data curriculum evaluation runs)
if(CURNM_TORCH)
  set_target_properties(curnm_torch PROPERTIES EXPORT_NAME libtorch)
  curnm_component(torch HEADERS ${CURNM_TORCH_HEADERS} OTHERS curnm_torch curnm_dnnl
                  LIBRARIES kernels nn models decoders miners prediction distributed training)
  target_link_libraries(curnm_component_torch INTERFACE curnm_component_core)
endif()

configure_package_config_file(cmake/curnmConfig.cmake.in ${PROJECT_BINARY_DIR}/curnmConfig.cmake
                              INSTALL_DESTINATION ${CURNM_CONFIG_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/curnmConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/curnmConfig.cmake ${PROJECT_BINARY_DIR}/curnmConfigVersion.cmake
        DESTINATION ${CURNM_CONFIG_DIR} COMPONENT libcurnm-dev)
