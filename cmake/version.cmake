# Writes OUTPUT, a source file with the version of the program: that of the project and the commit
# that is built, as git describes it (".changed" where files differ from it). Outside of a
# repository the commit is left out. Run as a script by every build; the file changes only with the
# version, so nothing is compiled in vain.
set(version ${PROJECT_VERSION})
get_filename_component(above ${SOURCE} DIRECTORY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env GIT_CEILING_DIRECTORIES=${above}
          git -C ${SOURCE} describe --always --exclude=* --dirty=.changed
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed)
  string(APPEND version "+${commit}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "curnm/base/version.h"

const std::string_view curnm::kVersion = "@version@";
]])
