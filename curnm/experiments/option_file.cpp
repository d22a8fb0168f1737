#include "curnm/experiments/option_file.h"

#include "curnm/base/files.h"
#include "curnm/experiments/yaml_file.h"

namespace curnm {

GivenOptions parse_option_file(std::string_view yaml, const std::string& file,
                               const std::vector<std::string_view>& known) {
  const YamlFile reader(file, "run");
  GivenOptions given;
  try {
    for (const auto& [name, option] : reader.options(reader.parse(yaml), known)) {
      given[name] = option.value;
    }
  } catch (const YAML::Exception& error) {
    reader.wrong(error.mark, error.msg);
  }
  return given;
}

GivenOptions read_option_file(const std::filesystem::path& file,
                              const std::vector<std::string_view>& known) {
  return parse_option_file(read_file(file), file.string(), known);
}

}  // namespace curnm
