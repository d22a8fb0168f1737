# curnm_library(graph PUBLIC curnm::base): all sources of curnm/graph as the target curnm::graph.
# New files are picked up by the next build, without an edit here.
function(curnm_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/curnm/${name}/*.cpp)
  add_library(curnm_${name} STATIC ${sources})
  add_library(curnm::${name} ALIAS curnm_${name})
  if(CURNM_JOIN_SOURCES)
    # Most of what a file costs is its headers: joined, they are read once for several.
    set_target_properties(curnm_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 7)
  endif()
  target_include_directories(curnm_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(curnm_${name} PUBLIC cxx_std_20)
  set_target_properties(curnm_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(curnm_${name} ${ARGN})
endfunction()

# The version as a string; a new commit is seen by the next build.
function(curnm_embed_version)
  set(output ${PROJECT_BINARY_DIR}/version.cpp)
  add_custom_target(curnm_version BYPRODUCTS ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${output}
            -DPROJECT_VERSION=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake)
  target_sources(curnm_base PRIVATE ${output})
  add_dependencies(curnm_base curnm_version)
endfunction()

# style.css and script.js of the HTML report as string literals; an edit of one is seen by the next build.
function(curnm_embed_report_assets)
  set(folder ${PROJECT_SOURCE_DIR}/curnm/report)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/style.css ${folder}/script.js)
  file(READ ${folder}/style.css CURNM_STYLE)
  file(READ ${folder}/script.js CURNM_SCRIPT)
  configure_file(${folder}/assets.cpp.in ${PROJECT_BINARY_DIR}/report_assets.cpp @ONLY)
  target_sources(curnm_report PRIVATE ${PROJECT_BINARY_DIR}/report_assets.cpp)
endfunction()

# The page and the description of the server, likewise.
function(curnm_embed_serving_assets)
  set(folder ${PROJECT_SOURCE_DIR}/curnm/serving)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.html ${folder}/openapi.json)
  file(READ ${folder}/page.html CURNM_PAGE)
  file(READ ${folder}/openapi.json CURNM_OPENAPI)
  configure_file(${folder}/assets.cpp.in ${PROJECT_BINARY_DIR}/serving_assets.cpp @ONLY)
  target_sources(curnm_serving PRIVATE ${PROJECT_BINARY_DIR}/serving_assets.cpp)
endfunction()
