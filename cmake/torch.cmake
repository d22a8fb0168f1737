# LibTorch: Debian's package, or an official one given by CMAKE_PREFIX_PATH.
find_package(Torch REQUIRED)
separate_arguments(torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
add_library(curnm_torch INTERFACE)
target_link_libraries(curnm_torch INTERFACE ${TORCH_LIBRARIES})
target_compile_options(curnm_torch INTERFACE ${torch_flags})

# <torch/torch.h> takes twenty seconds to compile: once, in curnm_nn, for all targets that see it.
function(curnm_share_torch_header target)
  target_precompile_headers(${target} REUSE_FROM curnm_nn)
endfunction()
