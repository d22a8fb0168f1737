#include "curnm/experiments/experiment_file.h"

#include <yaml-cpp/yaml.h>

#include <array>
#include <map>
#include <set>
#include <tuple>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/names.h"

namespace curnm {
namespace {

/// An option and its position in the file.
struct Given {
  std::string value;
  YAML::Mark mark;
};
using GivenMarks = std::map<std::string, Given>;

RunFlags flags_of(const GivenMarks& options) {
  RunFlags flags;
  for (const auto& [name, given] : options) flags[name] = given.value;
  return flags;
}

/// An entry of a list with its own options.
struct Choice {
  std::string name;
  GivenMarks options = {};
  YAML::Mark mark = YAML::Mark::null_mark();
};

constexpr std::array<std::string_view, 6> kGridKeys = {"networks", "models",  "miners",
                                                       "seeds",    "options", "variants"};
constexpr std::array<std::string_view, 3> kFileKeys = {"name", "title", "grids"};

class Reader {
 public:
  Reader(std::string file, const Vocabulary& vocabulary)
      : file_(std::move(file)), vocabulary_(vocabulary) {}

  Experiment read(std::string_view yaml) const {
    const YAML::Node root = merged(parse(yaml));
    if (!root.IsMap()) wrong(root, "an experiment is a map with networks, models, miners, seeds");
    std::vector<std::string_view> known(kFileKeys.begin(), kFileKeys.end());
    known.insert(known.end(), kGridKeys.begin(), kGridKeys.end());
    check_keys(root, known);

    Experiment experiment;
    experiment.name =
        root["name"] ? text(root["name"]) : std::filesystem::path(file_).stem().string();
    if (experiment.name.empty()) wrong(root["name"], "a name has at least one letter");
    experiment.title = root["title"] ? text(root["title"]) : experiment.name;
    if (!root["grids"]) {
      add_grid(experiment, root, root);
    } else {
      if (!root["grids"].IsSequence() || root["grids"].size() == 0) {
        wrong(root["grids"], "grids is a list with at least one map");
      }
      for (const YAML::Node& entry : root["grids"]) {
        const YAML::Node grid = merged(entry);
        if (!grid.IsMap()) wrong(entry, "a grid is a map");
        check_keys(grid, kGridKeys);
        add_grid(experiment, grid, root);
      }
    }
    keep_first_of_each(experiment.jobs);
    check_places(experiment.jobs);
    return experiment;
  }

 private:
  [[noreturn]] void wrong(const YAML::Node& node, const std::string& what) const {
    wrong(node.Mark(), what);
  }
  [[noreturn]] void wrong(const YAML::Mark& mark, const std::string& what) const {
    if (mark.is_null()) fail<UsageError>("{}: {}", file_, what);
    fail<UsageError>("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, what);
  }

  YAML::Node parse(std::string_view yaml) const {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
      if (documents.size() > 1)
        wrong(documents[1], "a file has one experiment; a second begins here");
      return documents.empty() ? YAML::Node() : documents.front();
    } catch (const YAML::ParserException& error) {
      wrong(error.mark, error.msg);
    }
  }

  /// A map with the maps under `<<` in it; its own keys win. yaml-cpp leaves that to its users.
  YAML::Node merged(const YAML::Node& node, int depth = 0) const {
    if (!node.IsMap() || !node["<<"]) return node;
    if (depth > 100) wrong(node, "<< leads back to itself");
    YAML::Node all(YAML::NodeType::Map);
    const auto take = [&](const YAML::Node& from) {
      const YAML::Node map = merged(from, depth + 1);
      if (!map.IsMap()) wrong(from, "<< takes a map or a list of maps");
      for (const auto& entry : map) {
        if (!all[entry.first.Scalar()]) all[entry.first.Scalar()] = entry.second;
      }
    };
    for (const auto& entry : node) {
      if (entry.first.Scalar() != "<<") all[entry.first.Scalar()] = entry.second;
    }
    const YAML::Node base = node["<<"];
    if (base.IsSequence()) {
      for (const YAML::Node& one : base) take(one);
    } else {
      take(base);
    }
    return all;
  }

  template <class Names>
  void check_keys(const YAML::Node& map, const Names& known) const {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = text(entry.first);
      known_name(entry.first.Mark(), "key", key, known);
      if (!seen.insert(key).second) wrong(entry.first, fmt::format("'{}' stands here twice", key));
    }
  }

  template <class Names>
  void known_name(const YAML::Mark& mark, std::string_view kind, const std::string& name,
                  const Names& known) const {
    if (std::ranges::find(known, name) != known.end()) return;
    try {
      unknown_name(kind, name, known);
    } catch (const Error& error) {
      wrong(mark, error.what());
    }
  }

  std::string text(const YAML::Node& node) const {
    if (!node.IsScalar()) wrong(node, "a single value was expected here");
    return node.Scalar();
  }

  GivenMarks options(const YAML::Node& given) const {
    GivenMarks all;
    if (!given || given.IsNull()) return all;
    const YAML::Node map = merged(given);
    if (!map.IsMap()) wrong(given, "options are a map: {epochs: 60}");
    check_keys(map, vocabulary_.flags);
    for (const auto& entry : map) {
      all[text(entry.first)] = {text(entry.second), entry.second.Mark()};
    }
    return all;
  }

  /// [uci, WIKI: {epochs: 8}]
  std::vector<Choice> choices(const YAML::Node& list, const char* key) const {
    std::vector<Choice> all;
    if (!list.IsSequence() || list.size() == 0) {
      wrong(list, fmt::format("{} is a list with at least one entry", key));
    }
    for (const YAML::Node& entry : list) {
      if (entry.IsScalar()) {
        if (entry.Scalar().empty() || entry.Scalar().starts_with("-")) {
          wrong(entry, fmt::format("'{}' is no name", entry.Scalar()));
        }
        all.push_back({entry.Scalar(), {}, entry.Mark()});
      } else if (entry.IsMap() && entry.size() == 1) {
        all.push_back({text(entry.begin()->first), options(entry.begin()->second), entry.Mark()});
      } else {
        wrong(entry, fmt::format("an entry of {} is a name, or a name with options: "
                                 "{{WIKI: {{epochs: 8}}}}",
                                 key));
      }
    }
    return all;
  }

  std::vector<Choice> named_choices(const YAML::Node& list, const char* key, std::string_view kind,
                                    const std::vector<std::string_view>& known) const {
    const std::vector<Choice> all = choices(list, key);
    for (const Choice& choice : all) known_name(choice.mark, kind, choice.name, known);
    return all;
  }

  std::vector<std::int64_t> seeds(const YAML::Node& list) const {
    if (!list.IsSequence() || list.size() == 0) wrong(list, "seeds is a list of whole numbers");
    std::vector<std::int64_t> all;
    for (const YAML::Node& entry : list) {
      std::int64_t seed = -1;
      if (!YAML::convert<std::int64_t>::decode(entry, seed) || seed < 0) {
        wrong(entry, "a seed is a whole number, 0 or more");
      }
      if (std::ranges::find(all, seed) != all.end()) {
        wrong(entry, fmt::format("seed {} is there twice", seed));
      }
      all.push_back(seed);
    }
    return all;
  }

  std::vector<Choice> variants(const YAML::Node& given) const {
    if (!given) return {{""}};
    const YAML::Node map = merged(given);
    if (!map.IsMap() || map.size() == 0) {
      wrong(given, "variants is a map of names to options: {complete: {}, fixed: {ablate: pi}}");
    }
    std::vector<Choice> all;
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (text(entry.first).empty()) wrong(entry.first, "a variant needs a name");
      if (!seen.insert(text(entry.first)).second) {
        wrong(entry.first, fmt::format("there are two variants '{}'", text(entry.first)));
      }
      all.push_back({text(entry.first), options(entry.second)});
    }
    return all;
  }

  void add_grid(Experiment& experiment, const YAML::Node& grid, const YAML::Node& defaults) const {
    const auto part = [&](const char* key) -> YAML::Node {
      return grid[key] ? grid[key] : defaults[key];
    };
    const auto required = [&](const char* key) -> YAML::Node {
      if (!part(key)) wrong(grid, fmt::format("'{}' is missing", key));
      return part(key);
    };
    const GivenMarks shared = options(part("options"));
    const auto networks = choices(required("networks"), "networks");
    const auto models = named_choices(required("models"), "models", "model", vocabulary_.models);
    const auto miners = named_choices(required("miners"), "miners", "miner", vocabulary_.miners);
    const auto all_seeds = seeds(required("seeds"));
    const auto all_variants = variants(part("variants"));
    std::map<int, OptionUse> uses;         // by position in the file
    for (std::int64_t seed : all_seeds) {  // outermost: a complete table of one seed comes first
      for (const Choice& network : networks) {
        for (const Choice& model : models) {
          for (const Choice& miner : miners) {
            for (const Choice& variant : all_variants) {
              GivenMarks all = variant.options;  // insert() keeps what is there: nearest wins
              for (const GivenMarks* further :
                   {&miner.options, &model.options, &network.options, &shared}) {
                all.insert(further->begin(), further->end());
              }
              Job job{network.name, model.name, miner.name, seed, flags_of(all), variant.name};
              resolve(job, flags_of(variant.options), all, grid.Mark());
              for (const auto& [name, given] : all) {
                OptionUse& use =
                    uses.try_emplace(given.mark.pos, OptionUse{name, given.mark}).first->second;
                use.used |= job.flags.contains(name);
              }
              experiment.jobs.push_back(std::move(job));
            }
          }
        }
      }
    }
    for (const auto& [position, use] : uses) {
      if (!use.used) wrong(use.mark, fmt::format("{} has no effect on any run", use.name));
    }
  }

  /// An option at one position in the file.
  struct OptionUse {
    std::string name;
    YAML::Mark mark;
    bool used = false;  // by some run
  };

  /// Reports errors at the position of the option they name, else at the grid.
  void resolve(Job& job, const RunFlags& own, const GivenMarks& all, const YAML::Mark& grid) const {
    try {
      vocabulary_.resolve(job, own);
    } catch (const OptionError& error) {
      const auto given = all.find(error.option());
      wrong(given == all.end() ? grid : given->second.mark, error.what());
    } catch (const UsageError& error) {
      wrong(grid, error.what());
    }
  }

  /// Removes duplicates: grids may overlap.
  static void keep_first_of_each(std::vector<Job>& jobs) {
    std::set<std::pair<std::string, std::string>> seen;
    std::erase_if(jobs, [&](const Job& job) {
      return !seen.insert({job.variant, job.key()}).second;
    });
  }

  /// A table has one cell per network, model, miner and seed: runs with other options must be
  /// variants.
  void check_places(const std::vector<Job>& jobs) const {
    std::set<std::tuple<std::string, std::string, std::string, std::string, std::int64_t>> taken;
    for (const Job& job : jobs) {
      if (taken.emplace(job.variant, job.network, job.model, job.miner, job.seed).second) continue;
      fail<UsageError>("{}: {} is there twice, with different options: name them under `variants`",
                       file_, job.title());
    }
  }

  std::string file_;
  const Vocabulary& vocabulary_;
};

}  // namespace

Experiment parse_experiment(std::string_view yaml, const std::string& file,
                            const Vocabulary& vocabulary) {
  return Reader(file, vocabulary).read(yaml);
}

Experiment read_experiment(const std::filesystem::path& file, const Vocabulary& vocabulary) {
  return parse_experiment(MappedFile::open(file)->text(), file.string(), vocabulary);
}

}  // namespace curnm
