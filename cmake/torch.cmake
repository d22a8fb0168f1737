# LibTorch: Debian's package, or an official one given by CMAKE_PREFIX_PATH.
find_package(Torch REQUIRED)
separate_arguments(torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
add_library(curnm_torch INTERFACE)
target_link_libraries(curnm_torch INTERFACE ${TORCH_LIBRARIES})
target_compile_options(curnm_torch INTERFACE ${torch_flags})

# oneDNN multiplies matrices. LibTorch brings the library; Debian's CMake file for it asks for OpenCL, which
# it does not use.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
add_library(curnm_dnnl INTERFACE)
target_link_libraries(curnm_dnnl INTERFACE ${DNNL_LIBRARY})
target_include_directories(curnm_dnnl INTERFACE ${DNNL_INCLUDE_DIR})

# <torch/torch.h> takes twenty seconds to compile: once, in curnm_nn, for all targets that see it.
function(curnm_share_torch_header target)
  target_precompile_headers(${target} REUSE_FROM curnm_nn)
endfunction()
