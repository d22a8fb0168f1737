# oneDNN multiplies matrices: the target curnm_dnnl. Debian's CMake file for it asks for OpenCL, which
# is not used here, so the library is looked for by hand.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
add_library(curnm_dnnl INTERFACE)
target_link_libraries(curnm_dnnl INTERFACE $<BUILD_INTERFACE:${DNNL_LIBRARY}> $<INSTALL_INTERFACE:dnnl>)
target_include_directories(curnm_dnnl SYSTEM INTERFACE $<BUILD_INTERFACE:${DNNL_INCLUDE_DIR}>)
