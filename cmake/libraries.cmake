# curnm_library(graph PUBLIC curnm::base): all sources of curnm/graph as the target curnm::graph.
# New files are picked up by the next build, without an edit here.
function(curnm_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/curnm/${name}/*.cpp)
  add_library(curnm_${name} STATIC ${sources})
  add_library(curnm::${name} ALIAS curnm_${name})
  target_include_directories(curnm_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(curnm_${name} ${ARGN})
endfunction()
