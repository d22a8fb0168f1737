#include "curnm/experiments/experiment_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/experiments/yaml_file.h"

namespace curnm {
namespace {

RunFlags flags_of(const YamlFile::Options& options) {
  RunFlags flags;
  for (const auto& [name, given] : options) flags[name] = given.value;
  return flags;
}

/// An entry of a list with its own options.
struct ListEntry {
  std::string name;
  YamlFile::Options options = {};
  YAML::Mark mark = YAML::Mark::null_mark();
};

/// Products of lists grow fast. Far above what anyone runs, and low enough that a plan takes
/// seconds.
constexpr std::int64_t kMostCells = 10'000;

class Reader : private YamlFile {
 public:
  Reader(std::string file, const Vocabulary& vocabulary)
      : YamlFile(std::move(file), "experiment"), vocabulary_(vocabulary) {}

  Experiment read(std::string_view yaml) const {
    try {
      return read_document(yaml);
    } catch (const YAML::Exception& error) {
      wrong(error.mark, error.msg);
    }
  }

 private:
  Experiment read_document(std::string_view yaml) const {
    const YAML::Node document = parse(yaml);
    if (!document.IsMap())
      wrong(document, "an experiment is a map with networks, models, miners, seeds");
    const Map& root = merged(document);
    const std::vector<std::string_view> grid_keys = {"networks", "models",  "miners",
                                                     "seeds",    "options", "variants"};
    std::vector<std::string_view> known = {"name", "title", "grids"};
    known.insert(known.end(), grid_keys.begin(), grid_keys.end());
    check_keys(root, known);

    Experiment experiment;
    experiment.name =
        root["name"] ? text(root["name"]) : std::filesystem::path(file()).stem().string();
    if (experiment.name.empty()) wrong(root["name"], "a name has at least one letter");
    experiment.title = root["title"] ? text(root["title"]) : experiment.name;
    if (!root["grids"]) {
      add_grid(experiment, root, root);
    } else {
      if (!root["grids"].IsSequence() || root["grids"].size() == 0) {
        wrong(root["grids"], "grids is a list with at least one map");
      }
      for (const YAML::Node& entry : root["grids"]) {
        if (!entry.IsMap()) wrong(entry, "a grid is a map");
        const Map& grid = merged(entry);
        check_keys(grid, grid_keys);
        add_grid(experiment, grid, root);
      }
    }
    check_reading(experiment.jobs);
    keep_first_of_each(experiment.jobs);
    check_places(experiment.jobs);
    return experiment;
  }

  bool is_of_reading(const std::string& option) const {
    return std::ranges::find(vocabulary_.read_flags, option) != vocabulary_.read_flags.end();
  }

  /// Options of a network, which may say how it is read.
  Options network_options(const YAML::Node& given) const {
    std::vector<std::string_view> known = vocabulary_.flags;
    known.insert(known.end(), vocabulary_.read_flags.begin(), vocabulary_.read_flags.end());
    return YamlFile::options(given, known);
  }

  Options options(const YAML::Node& given) const {
    Options all = network_options(given);
    for (const auto& [name, option] : all) {
      if (!is_of_reading(name)) continue;
      wrong(option.mark, fmt::format("{0} says how a table is read: give it to the network, "
                                     "- ./mine.csv: {{{0}: {1}}}",
                                     name, option.value));
    }
    return all;
  }

  /// [uci, WIKI: {epochs: 8}]
  std::vector<ListEntry> choices(const YAML::Node& list, const char* key) const {
    const bool networks = std::string_view(key) == "networks";
    std::vector<ListEntry> all;
    if (!list.IsSequence() || list.size() == 0) {
      wrong(list, fmt::format("{} is a list with at least one entry", key));
    }
    for (const YAML::Node& entry : list) {
      if (entry.IsScalar()) {
        const std::string name = text(entry);
        if (name.empty() || name.starts_with("-")) {
          wrong(entry, fmt::format("'{}' is no name", name));
        }
        all.push_back({name, {}, entry.Mark()});
      } else if (entry.IsMap() && entry.size() == 1) {
        const YAML::Node given = entry.begin()->second;  // the iterator owns what it shows
        all.push_back({text(entry.begin()->first),
                       networks ? network_options(given) : options(given), entry.Mark()});
      } else {
        wrong(entry, fmt::format("an entry of {} is a name, or a name with options: "
                                 "{{WIKI: {{epochs: 8}}}}",
                                 key));
      }
    }
    return all;
  }

  std::vector<ListEntry> named_choices(const YAML::Node& list, const char* key,
                                       std::string_view kind,
                                       const std::vector<std::string_view>& known) const {
    const std::vector<ListEntry> all = choices(list, key);
    for (const ListEntry& choice : all) known_name(choice.mark, kind, choice.name, known);
    return all;
  }

  std::vector<std::int64_t> seeds(const YAML::Node& list) const {
    if (!list.IsSequence() || list.size() == 0) wrong(list, "seeds is a list of whole numbers");
    std::vector<std::int64_t> all;
    std::set<std::int64_t> seen;
    for (const YAML::Node& entry : list) {
      std::int64_t seed = -1;
      if (!YAML::convert<std::int64_t>::decode(entry, seed) || seed < 0) {
        wrong(entry, "a seed is a whole number, 0 or more");
      }
      if (!seen.insert(seed).second) wrong(entry, fmt::format("seed {} is there twice", seed));
      all.push_back(seed);
    }
    return all;
  }

  std::vector<ListEntry> variants(const YAML::Node& given) const {
    if (!given) return {{""}};
    if (!given.IsMap() || given.size() == 0) {
      wrong(given, "variants is a map of names to options: {complete: {}, fixed: {ablate: pi}}");
    }
    std::vector<ListEntry> all;
    std::set<std::string> seen;
    for (const auto& entry : merged(given).entries) {
      if (text(entry.first).empty()) wrong(entry.first, "a variant needs a name");
      if (!seen.insert(text(entry.first)).second) {
        wrong(entry.first, fmt::format("there are two variants '{}'", text(entry.first)));
      }
      all.push_back({text(entry.first), options(entry.second)});
    }
    return all;
  }

  void add_grid(Experiment& experiment, const Map& grid, const Map& defaults) const {
    const auto part = [&](const char* key) -> YAML::Node {
      return grid[key] ? grid[key] : defaults[key];
    };
    const auto required = [&](const char* key) -> YAML::Node {
      if (!part(key)) wrong(grid.mark, fmt::format("'{}' is missing", key));
      return part(key);
    };
    const Options shared = options(part("options"));
    const auto networks = choices(required("networks"), "networks");
    const auto models = named_choices(required("models"), "models", "model", vocabulary_.models);
    const auto miners = named_choices(required("miners"), "miners", "miner", vocabulary_.miners);
    const auto all_seeds = seeds(required("seeds"));
    const auto all_variants = variants(part("variants"));
    double cells = static_cast<double>(experiment.jobs.size());
    cells += static_cast<double>(networks.size()) * static_cast<double>(models.size()) *
             static_cast<double>(miners.size()) * static_cast<double>(all_seeds.size()) *
             static_cast<double>(all_variants.size());
    if (cells > kMostCells) {
      wrong(grid.mark,
            fmt::format("{:.0f} runs are more than one experiment may have ({}): divide it", cells,
                        kMostCells));
    }
    std::map<int, OptionUse> uses;         // by position in the file
    for (std::int64_t seed : all_seeds) {  // outermost: a complete table of one seed comes first
      for (const ListEntry& network : networks) {
        for (const ListEntry& model : models) {
          for (const ListEntry& miner : miners) {
            for (const ListEntry& variant : all_variants) {
              Options all = variant.options;  // insert() keeps what is there: nearest wins
              for (const Options* further :
                   {&miner.options, &model.options, &network.options, &shared}) {
                all.insert(further->begin(), further->end());
              }
              Job job{network.name, model.name, miner.name, seed, flags_of(all), variant.name};
              resolve(job, flags_of(variant.options), all, grid.mark);
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
  void resolve(Job& job, const RunFlags& own, const Options& all, const YAML::Mark& grid) const {
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

  /// Results are kept by the name of a network: it has to be the same one in all runs.
  void check_reading(const std::vector<Job>& jobs) const {
    std::map<std::string, RunFlags> reading;
    for (const Job& job : jobs) {
      RunFlags of_job = job.flags;
      std::erase_if(of_job, [&](const auto& flag) { return !is_of_reading(flag.first); });
      if (reading.emplace(job.network, of_job).first->second == of_job) continue;
      fail<UsageError>(
          "{}: {} is read in two ways; results are kept by the name of a network: `curnm import` "
          "it "
          "in both ways, under two names",
          file(), job.network);
    }
  }

  /// A table has one cell per network, model, miner and seed: runs with other options must be
  /// variants.
  void check_places(const std::vector<Job>& jobs) const {
    std::set<std::tuple<std::string, std::string, std::string, std::string, std::int64_t>> taken;
    for (const Job& job : jobs) {
      if (taken.emplace(job.variant, job.network, job.model, job.miner, job.seed).second) continue;
      fail<UsageError>("{}: {} is there twice, with different options: name them under `variants`",
                       file(), job.title());
    }
  }

  const Vocabulary& vocabulary_;
};

}  // namespace

Experiment parse_experiment(std::string_view yaml, const std::string& file,
                            const Vocabulary& vocabulary) {
  return Reader(file, vocabulary).read(yaml);
}

Experiment read_experiment(const std::filesystem::path& file, const Vocabulary& vocabulary) {
  return parse_experiment(read_file(file), file.string(), vocabulary);
}

}  // namespace curnm
