# Compiler settings shared by every target.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Caches what uses the precompiled header as well, and finds it again from another clone.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)  # how ccache learns which header it was
  endif()
endif()

# Sizes are signed here and in LibTorch, so sign conversions at the standard library's borders are
# routine; designated initialisers leave members at their defaults on purpose.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                    -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # false alarms on std::string in g++ 12 (its bug 105651)
  # Libraries are position independent, for the Python module; nobody replaces their functions one by
  # one, so calls within a file may be inlined as in a program. Clang assumes that anyway.
  add_compile_options(-fno-semantic-interposition)
endif()
if(CURNM_WERROR)
  add_compile_options(-Werror)
endif()

# Any x86-64 machine of the last fifteen years; hot loops ask for more at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
endif()

set(CURNM_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
if(CURNM_SANITIZE)
  add_compile_options(-fsanitize=${CURNM_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${CURNM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false alarms on std::regex under ASan in g++ 12
  else()
    add_compile_options(-Wno-pass-failed)  # instrumented loops are not vectorised
  endif()
  if(CURNM_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
