# Gloo, which carries the numbers of several ranks: headers for those of LibTorch's c10d, and the
# library that Debian's LibTorch uses. Without it curnm trains on one rank.
find_path(GLOO_INCLUDE_DIR gloo/algorithm.h)
find_library(GLOO_LIBRARY gloo)
find_file(C10D_GLOO_HEADER torch/csrc/distributed/c10d/ProcessGroupGloo.hpp HINTS ${TORCH_INCLUDE_DIRS})
if(CURNM_DISTRIBUTED AND NOT (GLOO_INCLUDE_DIR AND GLOO_LIBRARY AND C10D_GLOO_HEADER))
  message(STATUS "Training on one rank only: the headers of Gloo are not installed (libgloo-dev)")
elseif(CURNM_DISTRIBUTED)
  target_include_directories(curnm_distributed SYSTEM PRIVATE ${GLOO_INCLUDE_DIR})
  target_link_libraries(curnm_distributed PRIVATE ${GLOO_LIBRARY})
  target_compile_definitions(curnm_distributed PRIVATE CURNM_GLOO)
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/curnm/distributed/gloo_group.cpp
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
