# Before 2.1 a header of LibTorch uses vectors of a type that is not complete yet (corrected by its
# pull request 93978). As C++20 clang refuses it. There it reads a copy in the build folder, in which
# the two functions stand at the end, where the type is complete.
find_file(TORCH_LIST_HEADER ATen/core/List.h HINTS ${TORCH_INCLUDE_DIRS} REQUIRED)
file(READ ${TORCH_LIST_HEADER} text)
set(constructor "ListImpl(list_type list_, TypePtr elementType_)
  : list(std::move(list_))
  , elementType(std::move(elementType_)) {}")
set(first_element " {
  return &list.impl_->list[0];
}")
string(REPLACE "${constructor}" "ListImpl(list_type list_, TypePtr elementType_);" text "${text}")
string(REPLACE "${first_element}" ";" text "${text}")
string(APPEND text "
inline c10::detail::ListImpl::${constructor}
inline const c10::IValue* c10::impl::ptr_to_first_element(const GenericList& list)${first_element}
")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch/ATen/core/List.h CONTENT "${text}" @ONLY)
target_include_directories(curnm_torch SYSTEM INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/torch>)
