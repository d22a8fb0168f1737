# LibTorch: Debian's package, or an official one given by CMAKE_PREFIX_PATH.
find_package(Torch REQUIRED)
separate_arguments(torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
add_library(curnm_torch INTERFACE)
target_link_libraries(curnm_torch INTERFACE ${TORCH_LIBRARIES})
target_compile_options(curnm_torch INTERFACE ${torch_flags})
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND Torch_VERSION VERSION_LESS 2.1)
  include(cmake/torch_list.cmake)
endif()
