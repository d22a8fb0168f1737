#include "curnm/experiments/experiment_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
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

// A file of a few hundred bytes can ask for anything by aliases and products of lists. The limits
// are far above what anyone runs, and low enough that a plan takes seconds.
constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::int64_t kMostNodes = 100'000;  // in the file, and again by << of maps
constexpr std::int64_t kMostCells = 10'000;

/// Counts what a document holds before any of it is kept.
class NodeCount final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {
    ++documents_;
    is_new_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { add(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    add(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    add(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    add(mark);
  }
  void OnMapEnd() override {}

  int documents() const { return documents_; }
  const YAML::Mark& start() const { return start_; }  // of the last document

 private:
  void add(const YAML::Mark& mark) {
    if (std::exchange(is_new_, false)) start_ = mark;
    if (++nodes_ <= kMostNodes) return;
    throw YAML::ParserException(mark, fmt::format("more than {} values", kMostNodes));
  }

  int documents_ = 0;
  bool is_new_ = false;  // a document without a value so far
  YAML::Mark start_;
  std::int64_t nodes_ = 0;
};

/// ESC and its like would change the terminal, or hide in a report.
bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
}

/// A map of the file with those that it takes in by <<.
struct Map {
  YAML::Mark mark;
  std::vector<std::pair<YAML::Node, YAML::Node>> entries;

  /// The value of a key; undefined where there is none.
  YAML::Node operator[](std::string_view key) const {
    for (const auto& [name, value] : entries) {
      if (name.Scalar() == key) return value;
    }
    return YAML::Node(YAML::NodeType::Undefined);
  }
};

constexpr std::array<std::string_view, 6> kGridKeys = {"networks", "models",  "miners",
                                                       "seeds",    "options", "variants"};
constexpr std::array<std::string_view, 3> kFileKeys = {"name", "title", "grids"};

class Reader {
 public:
  Reader(std::string file, const Vocabulary& vocabulary)
      : file_(std::move(file)), vocabulary_(vocabulary) {}

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
        if (!entry.IsMap()) wrong(entry, "a grid is a map");
        const Map& grid = merged(entry);
        check_keys(grid, kGridKeys);
        add_grid(experiment, grid, root);
      }
    }
    keep_first_of_each(experiment.jobs);
    check_places(experiment.jobs);
    return experiment;
  }

  [[noreturn]] void wrong(const YAML::Node& node, const std::string& what) const {
    wrong(node.Mark(), what);
  }
  [[noreturn]] void wrong(const YAML::Mark& mark, const std::string& what) const {
    if (mark.is_null()) fail<UsageError>("{}: {}", file_, what);
    fail<UsageError>("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, what);
  }

  YAML::Node parse(std::string_view yaml) const {
    if (yaml.size() > kMostBytes) {
      fail<UsageError>("{}: {} bytes are more than an experiment has ({})", file_, yaml.size(),
                       kMostBytes);
    }
    const std::string text(yaml);
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    NodeCount count;
    YAML::Mark first;
    // Counted by hand, since yaml-cpp finds a document without end in a lone comma.
    while (count.documents() < 2 && parser.HandleNextDocument(count)) {
      if (count.documents() == 1) first = count.start();
    }
    if (count.documents() > 1 && count.start().pos == first.pos) wrong(first, "this is not YAML");
    if (count.documents() > 1) {
      wrong(count.start(), "a file has one experiment; a second begins here");
    }
    return YAML::Load(text);
  }

  /// A map with the maps under `<<` in it; its own keys win. yaml-cpp leaves that to its users.
  /// Each map of the file is done once, however many aliases lead to it.
  const Map& merged(const YAML::Node& node, int depth = 0) const {
    if (!node.IsMap()) wrong(node, "a map was expected here");
    if (const auto done = maps_.find(node.Mark().pos); done != maps_.end()) return done->second;
    if (depth > 100) wrong(node, "<< leads back to itself");
    Map all{.mark = node.Mark(), .entries = {}};
    std::set<std::string> seen;
    YAML::Node base(YAML::NodeType::Undefined);
    for (const auto& entry : node) {
      if (entry.first.Scalar() == "<<") {
        base.reset(entry.second);
        continue;
      }
      seen.insert(entry.first.Scalar());
      all.entries.emplace_back(entry.first, entry.second);  // twice where it stands twice
    }
    const auto take = [&](const YAML::Node& from) {
      if (!from.IsMap()) wrong(from, "<< takes a map or a list of maps");
      for (const auto& [key, value] : merged(from, depth + 1).entries) {
        if (++merged_keys_ > kMostNodes) {
          wrong(node, fmt::format("<< takes in more than {} keys", kMostNodes));
        }
        if (seen.insert(key.Scalar()).second) all.entries.emplace_back(key, value);
      }
    };
    if (base.IsDefined() && base.IsSequence()) {
      for (const YAML::Node& one : base) take(one);
    } else if (base.IsDefined()) {
      take(base);
    }
    return maps_.emplace(node.Mark().pos, std::move(all)).first->second;
  }

  template <class Names>
  void check_keys(const Map& map, const Names& known) const {
    std::set<std::string> seen;
    for (const auto& entry : map.entries) {
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
    if (has_control_characters(node.Scalar())) wrong(node, "control characters are not allowed");
    return node.Scalar();
  }

  GivenMarks options(const YAML::Node& given) const {
    GivenMarks all;
    if (!given || given.IsNull()) return all;
    if (!given.IsMap()) wrong(given, "options are a map: {epochs: 60}");
    const Map& map = merged(given);
    check_keys(map, vocabulary_.flags);
    for (const auto& entry : map.entries) {
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
        const std::string name = text(entry);
        if (name.empty() || name.starts_with("-")) {
          wrong(entry, fmt::format("'{}' is no name", name));
        }
        all.push_back({name, {}, entry.Mark()});
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

  std::vector<Choice> variants(const YAML::Node& given) const {
    if (!given) return {{""}};
    if (!given.IsMap() || given.size() == 0) {
      wrong(given, "variants is a map of names to options: {complete: {}, fixed: {ablate: pi}}");
    }
    std::vector<Choice> all;
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
    const GivenMarks shared = options(part("options"));
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
  mutable std::map<int, Map> maps_;       // by position in the file
  mutable std::int64_t merged_keys_ = 0;  // by all << so far
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
