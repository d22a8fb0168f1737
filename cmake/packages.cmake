# `cpack` in the build folder makes three Debian packages: the program (curnm), what programs of others
# are built with (libcurnm-dev), and the Python package (python3-curnm).
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packages do not wait for tests
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The curnm authors <curnm@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL curnm libcurnm-dev)

# curnm_package(curnm SECTION science DEPENDS ... DESCRIPTION ...)
function(curnm_package name)
  cmake_parse_arguments(arg "" "SECTION;DEPENDS;DESCRIPTION" "" ${ARGN})
  string(TOUPPER ${name} NAME)
  set(CPACK_DEBIAN_${NAME}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${NAME}_PACKAGE_SECTION ${arg_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${NAME}_PACKAGE_DEPENDS "${arg_DEPENDS}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${NAME}_DESCRIPTION "${arg_DESCRIPTION}" PARENT_SCOPE)
  # What every Debian package has.
  install(FILES LICENSE DESTINATION share/doc/${name} RENAME copyright COMPONENT ${name})
  install(FILES ${PROJECT_BINARY_DIR}/packages/${name}/changelog.gz DESTINATION share/doc/${name}
          COMPONENT ${name})
  string(TIMESTAMP date "%a, %d %b %Y 00:00:00 +0000" UTC)
  file(WRITE ${PROJECT_BINARY_DIR}/packages/${name}/changelog
       "${name} (${PROJECT_VERSION}) stable; urgency=medium\n\n  * CHANGELOG.md of the sources.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  execute_process(COMMAND gzip -9nkf ${PROJECT_BINARY_DIR}/packages/${name}/changelog)
endfunction()

curnm_package(curnm SECTION science DEPENDS "libopenblas0-openmp"
  DESCRIPTION "The program: trains and compares temporal graph networks for link prediction.")
curnm_package(libcurnm-dev SECTION libdevel
  DEPENDS "libarchive-dev, libdnnl-dev, libfmt-dev, libsimdjson-dev, libtorch-dev, nlohmann-json3-dev, zlib1g-dev"
  DESCRIPTION "Headers and static libraries, for find_package(curnm).")
if(TARGET curnm_python)
  list(APPEND CPACK_COMPONENTS_ALL python3-curnm)
  set(version ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  curnm_package(python3-curnm SECTION python
    DEPENDS "curnm, python3-numpy, python3-torch, python3 (>= ${version}), python3 (<< ${Python_VERSION_MAJOR}.${next_minor})"
    DESCRIPTION "The Python package: miners, tasks and predictions for torch models.")
endif()
include(CPack)
