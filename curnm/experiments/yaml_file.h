#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace curnm {

/// A file that a person wrote in YAML: everything that is wrong with it is a UsageError with line
/// and column. Bounds what a file of a few hundred bytes can ask for by aliases.
class YamlFile {
 public:
  /// A map of the file with those that it takes in by <<.
  struct Map {
    YAML::Mark mark;
    std::vector<std::pair<YAML::Node, YAML::Node>> entries;

    /// The value of a key; undefined where there is none.
    YAML::Node operator[](std::string_view key) const;
  };
  /// An option and its position in the file.
  struct Given {
    std::string value;
    YAML::Mark mark;
  };
  using Options = std::map<std::string, Given>;

  /// `content` says what one of these is: "experiment".
  YamlFile(std::string file, std::string content)
      : file_(std::move(file)), content_(std::move(content)) {}

  const std::string& file() const { return file_; }
  YAML::Node parse(std::string_view yaml) const;

  /// A map with the maps under `<<` in it; its own keys win. yaml-cpp leaves that to its users.
  /// Each map of the file is done once, however many aliases lead to it.
  const Map& merged(const YAML::Node& node) const { return merged(node, 0); }
  std::string text(const YAML::Node& node) const;
  void check_keys(const Map& map, const std::vector<std::string_view>& known) const;
  void known_name(const YAML::Mark& mark, std::string_view kind, const std::string& name,
                  const std::vector<std::string_view>& known) const;
  /// {epochs: 60}, where no other names than `known` may be given.
  Options options(const YAML::Node& given, const std::vector<std::string_view>& known) const;

  [[noreturn]] void wrong(const YAML::Mark& mark, const std::string& what) const;
  [[noreturn]] void wrong(const YAML::Node& node, const std::string& what) const {
    wrong(node.Mark(), what);
  }

 private:
  const Map& merged(const YAML::Node& node, int depth) const;

  std::string file_;
  std::string content_;
  mutable std::map<int, Map> maps_;       // by position in the file
  mutable std::int64_t merged_keys_ = 0;  // by all << so far
};

}  // namespace curnm
