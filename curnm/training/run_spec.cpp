#include "curnm/training/run_spec.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"
#include "curnm/base/json.h"
#include "curnm/base/version.h"
#include "curnm/data/open.h"
#include "curnm/decoders/registry.h"
#include "curnm/distributed/group.h"
#include "curnm/miners/registry.h"
#include "curnm/models/registry.h"
#include "curnm/prediction/trained_model.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Kind = OptionError::Kind;

constexpr const char* kPreset = "preset";
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kMostRanks = 4096;
constexpr int kResultSchema = 1;  // changes when a key of result.json changes its meaning

/// Calls visit(part, options) for the parts of a run in the order in which they are recorded.
template <class Visit>
void for_each_part(RunSpec& spec, const Visit& visit) {
  visit("train", FieldsOf(spec.train));
  visit("model", FieldsOf(spec.model));
  visit("decoder", FieldsOf(spec.decoder));
  visit("miner", FieldsOf(spec.miner));
  visit("task", FieldsOf(spec.task));
}

bool has(FieldsOf fields, std::string_view name) {
  const std::vector<std::string_view> names = option_names(fields);
  return std::ranges::find(names, name) != names.end();
}

/// Whether any registered component has the option.
template <class Entry>
bool any_has(const Registry<Entry>& registry, std::string_view name) {
  return std::any_of(registry.begin(), registry.end(), [&](const Entry& entry) {
    Options defaults = entry.defaults;
    return has(defaults, name);
  });
}

/// The given options on top of those of the preset.
GivenOptions with_preset(const GivenOptions& given, const MinerEntry& miner) {
  GivenOptions all = given;
  const auto asked = given.find(kPreset);
  all.erase(kPreset);
  if (asked == given.end()) return all;
  if (miner.presets.empty()) {
    std::vector<std::string_view> having;
    for (const MinerEntry& entry : miners()) {
      if (!entry.presets.empty()) having.push_back(entry.name);
    }
    throw OptionError(Kind::kNoEffect, kPreset,
                      fmt::format("--preset has no effect on {}: it is for {}", miner.name,
                                  fmt::join(having, ", ")));
  }
  const Preset& preset =
      find_entry<Preset>("preset", std::span<const Preset>(miner.presets), asked->second);
  all.insert(preset.options.begin(), preset.options.end());  // insert() keeps given options
  return all;
}

/// Throws for an option that no part of this run has.
[[noreturn]] void refuse_unused(const std::string& name, RunSpec& spec) {
  const auto refuse = [&](std::string_view user, FieldsOf used) {
    throw OptionError(Kind::kNoEffect, name,
                      fmt::format("--{} has no effect on {} (its options: {})", name, user,
                                  fmt::join(option_names(used), ", ")));
  };
  if (any_has(models(), name)) refuse(spec.train.model, spec.model);
  if (any_has(miners(), name)) refuse(spec.train.miner, spec.miner);
  if (any_has(decoders(), name)) refuse(spec.train.decoder, spec.decoder);
  std::vector<std::string> all = {kPreset};
  for (const OptionHelp& option : run_options()) all.emplace_back(option.field.name);
  try {
    unknown_name("option", name, std::vector<std::string_view>(all.begin(), all.end()));
  } catch (const UsageError& error) {
    throw OptionError(Kind::kUnknown, name, error.what());
  }
}

bool is_known(const std::string& name, RunSpec& spec) {
  bool known = false;
  for_each_part(spec, [&](const char*, FieldsOf part) { known = known || has(part, name); });
  return known;
}

/// Whether an option matters only for training, not for using the weights afterwards.
bool is_for_learning(std::string_view part, std::string_view option) {
  constexpr std::array<std::string_view, 6> kOfWeights = {"model", "decoder", "features",
                                                          "seed",  "device",  "path"};
  return part == "miner" ||
         (part == "train" && std::ranges::find(kOfWeights, option) == kOfWeights.end());
}

/// Resolves the run without checking for options without effect.
RunSpec resolve_leniently(const GivenOptions& given) {
  RunSpec spec;
  set_given(given, spec.train);
  const MinerEntry& miner = miners().at(spec.train.miner);
  GivenOptions all = with_preset(given, miner);
  set_given(all, spec.train);  // a preset may name a model or a decoder
  const auto add_defaults_of = [&](const Component& component) {
    all.insert(component.run_defaults.begin(), component.run_defaults.end());
    return component.defaults;
  };
  spec.model = add_defaults_of(models().at(spec.train.model));
  spec.decoder = add_defaults_of(decoders().at(spec.train.decoder));
  spec.miner = add_defaults_of(miner);
  for_each_part(spec, [&](const char*, FieldsOf part) { set_given(all, part); });
  return spec;
}

}  // namespace

RunSpec resolve_run(const GivenOptions& given) {
  RunSpec spec = resolve_leniently(given);
  for (const auto& [name, value] : given) {
    if (name != kPreset && !is_known(name, spec)) refuse_unused(name, spec);
  }
  for_each_part(spec, [&](const char*, FieldsOf part) { refuse_idle(given, part); });
  spec.model.check();
  spec.decoder.check();
  spec.miner.check();
  spec.task.check();
  if (spec.train.select_on == SelectOn::kMrr && spec.task.rank_among == 0) {
    throw OptionError(Kind::kConflict, "rank-among",
                      "--select-on mrr needs a ranking, and --rank-among 0 switches it off");
  }
  complete(spec, {.epochs = spec.train.epochs});
  return spec;
}

RunSpec resolve_run(const GivenOptions& given, std::shared_ptr<const TrainedModel> init) {
  GivenOptions all = given;
  const auto take = [&](const char* option, const std::string& value) {
    const auto [found, is_new] = all.try_emplace(option, value);
    if (found->second == value) return;
    throw OptionError(Kind::kConflict, option,
                      fmt::format("--{} {}: the model to begin from has {} {}", option,
                                  found->second, option, value));
  };
  take("model", init->model);
  take("decoder", init->decoder);
  RunSpec spec = resolve_run(all);
  const auto refuse_own = [&](const std::string& component, Options& part) {
    for (const auto& [name, value] : given) {
      if (!has(part, name)) continue;
      throw OptionError(Kind::kNoEffect, name,
                        fmt::format("--{} has no effect on a warm start: the options of {} are "
                                    "those of the model that it begins from",
                                    name, component));
    }
  };
  refuse_own(init->model, spec.model);
  refuse_own(init->decoder, spec.decoder);
  if (given.contains("features")) {
    throw OptionError(Kind::kNoEffect, "features",
                      "--features has no effect on a warm start: the scales of features are those "
                      "of the model that it begins from");
  }
  spec.model = init->model_options;
  spec.decoder = init->decoder_options;
  spec.init = std::move(init);
  return spec;
}

std::vector<std::string> options_without_effect(const GivenOptions& given) {
  GivenOptions usable = given;
  std::vector<std::string> without;
  const auto leave_out = [&](const std::string& name) {
    without.push_back(name);
    usable.erase(name);
  };
  // A preset has no effect on a miner without presets.
  if (const auto miner = given.find("miner"); given.contains(kPreset)) {
    const std::string name = miner == given.end() ? TrainOptions().miner : miner->second;
    if (miners().at(name).presets.empty()) leave_out(kPreset);
  }
  RunSpec spec = resolve_leniently(usable);
  for (const auto& [name, value] : given) {
    if (name == kPreset || is_known(name, spec)) continue;
    if (!any_has(models(), name) && !any_has(miners(), name) && !any_has(decoders(), name)) {
      refuse_unused(name, spec);
    }
    leave_out(name);
  }
  for_each_part(spec, [&](const char*, FieldsOf part) {
    part([&](const Field& field, const OptionValue&) {
      const std::string name(field.name);
      if (!field.idle.empty() && usable.contains(name)) leave_out(name);
    });
  });
  return without;
}

void complete(RunSpec& spec, const RunFacts& facts) {
  spec.model.complete(facts);
  spec.decoder.complete(facts);
  spec.miner.complete(facts);
}

std::vector<OptionHelp> run_options() {
  std::vector<OptionHelp> all;
  const auto add = [&](const char* part, const std::string& owner, FieldsOf fields) {
    fields([&](const Field& field, const OptionValue& value) {
      auto found = std::ranges::find(all, field.name,
                                     [](const OptionHelp& help) { return help.field.name; });
      if (found == all.end()) {
        OptionHelp help{.field = field, .part = part};
        help.field.idle = {};
        for (const std::string_view choice : value.choices()) help.choices.emplace_back(choice);
        found = all.insert(all.end(), std::move(help));
      }
      if (owner.empty()) {
        found->defaults = value.text();
      } else {
        found->defaults +=
            fmt::format("{}{} for {}", found->defaults.empty() ? "" : ", ", value.text(), owner);
      }
    });
  };
  TrainOptions train;
  TaskOptions task;
  add("train", "", train);
  const auto add_registry = [&](const char* part, const auto& registry) {
    for (const auto& entry : registry) {
      Options defaults = entry.defaults;
      add(part, entry.name, defaults);
    }
  };
  add_registry("model", models());
  add_registry("decoder", decoders());
  add_registry("miner", miners());
  add("task", "", task);
  // Once every option is there: a component may start the options of any other from elsewhere.
  const auto add_run_defaults = [&](const auto& registry) {
    for (const auto& entry : registry) {
      for (const auto& [name, value] : entry.run_defaults) {
        const auto changed =
            std::ranges::find(all, name, [](const OptionHelp& help) { return help.field.name; });
        CURNM_ASSERT(changed != all.end());
        changed->defaults += fmt::format(", {} with {}", value, entry.name);
      }
    }
  };
  add_run_defaults(models());
  add_run_defaults(decoders());
  add_run_defaults(miners());
  return all;
}

ordered_json options_json(const RunSpec& spec) {
  RunSpec copy = spec;
  ordered_json parts;
  for_each_part(copy, [&](const char* name, FieldsOf part) { parts[name] = to_json(part); });
  return parts;
}

void set_options(RunSpec& spec, const ordered_json& parts) {
  for_each_part(spec, [&](const char* name, FieldsOf part) { from_json(parts.at(name), part); });
}

ordered_json identity_json(const RunSpec& spec, const std::string& data_name) {
  return {{"schema", kResultSchema},   {"version", kVersion},
          {"data", data_name},         {"data_digest", spec.data_digest},
          {"model", spec.train.model}, {"decoder", spec.train.decoder},
          {"miner", spec.train.miner}, {"seed", spec.train.seed}};
}

void create_run(const RunFolder& folder, const RunSpec& spec) {
  ReadOptions read = spec.read;
  ordered_json options = {{"version", kVersion},          {"data", spec.data},
                          {"read", to_json(read)},        {"data_digest", spec.data_digest},
                          {"columns", spec.columns},      {"stretches", spec.stretches},
                          {"events", spec.extent.events}, {"nodes", spec.extent.nodes},
                          {"threads", spec.threads}};
  if (spec.ranks > 1) options["ranks"] = spec.ranks;
  if (spec.batch_ranks > 1) options["batch_ranks"] = spec.batch_ranks;
  options.update(options_json(spec));
  folder.create(options, [&](const RunFolder& staged) {
    if (spec.init != nullptr) save_model(*spec.init, staged.init());
  });
}

RunSpec read_run(const RunFolder& folder, RunUse use, Group* group) {
  ordered_json options;
  if (group == nullptr || group->rank() == 0) options = folder.read_options();
  if (group != nullptr) options = parse_json(group->broadcast(options.dump(), /*from=*/0));
  try {
    RunSpec spec{.version = options.at("version"),
                 .data = options.at("data"),
                 .data_digest = options.at("data_digest"),
                 .extent = extent_from_json(options),
                 .threads = json_integer(options, "threads", 0, kMostThreads)};
    if (options.contains("ranks")) spec.ranks = json_integer(options, "ranks", 1, kMostRanks);
    if (options.contains("batch_ranks")) {
      spec.batch_ranks = json_integer(options, "batch_ranks", 1, spec.ranks);
    }
    from_json(options.at("read"), spec.read);
    spec.columns = options.at("columns").get<ColumnDigests>();
    spec.stretches = options.value("stretches", StretchDigests{});
    from_json(options.at("train"), spec.train);
    spec.model = models().at(spec.train.model).defaults;
    spec.decoder = decoders().at(spec.train.decoder).defaults;
    spec.miner = miners().at(spec.train.miner).defaults;
    std::vector<std::string> missing;
    for_each_part(spec, [&](const char* name, FieldsOf part) {
      const ordered_json recorded = options.value(name, ordered_json::object());
      for (const std::string_view option : option_names(part)) {
        const bool needed = use == RunUse::kContinue || !is_for_learning(name, option);
        if (needed && !recorded.contains(std::string(option))) {
          missing.push_back(fmt::format("--{}", option));
        }
      }
      from_json(recorded, part);
    });
    spec.model.check();
    spec.decoder.check();
    spec.miner.check();
    spec.task.check();
    if (std::error_code unusable; fs::exists(folder.init(), unusable)) {
      spec.init = std::make_shared<const TrainedModel>(load_model(folder.init()));
    }
    if (!missing.empty()) {
      fail<UnusableRun>(
          "{} was begun by an older program without {}: what that did is not known here; use the "
          "program that began it, curnm {}",
          folder.path().string(), fmt::join(missing, ", "), spec.version);
    }
    return spec;
  } catch (const nlohmann::json::exception& error) {
    fail<UnusableRun>("{} is damaged: {}", folder.options().string(), json_reason(error));
  } catch (const BadJson& error) {
    fail<UnusableRun>("{} is damaged: {}", folder.options().string(), error.what());
  } catch (const UsageError& error) {
    fail<UnusableRun>("{} cannot be used by this program: {}", folder.options().string(),
                      error.what());
  }
}

Dataset open_run_data(const RunSpec& spec, const std::string& data, bool grown) {
  const std::string& path = data.empty() ? spec.data : data;
  std::error_code unusable;
  if (data.empty() && !is_synthetic(path) && !fs::exists(path, unusable)) {
    fail("{} does not exist; --data says where the network of this run is now", path);
  }
  Dataset dataset = open_dataset(path, is_raw(path) ? spec.read : ReadOptions{});
  if (dataset.digest() == spec.data_digest && dataset.events.size() != spec.extent.events) {
    fail<UnusableRun>("the record of this run is damaged: {} has {} events, and not {}", path,
                      dataset.events.size(), spec.extent.events);
  }
  if (is_same_network(dataset, spec.data_digest, spec.extent, grown)) return dataset;
  fail<UnusableRun>(
      "{} is not the network that this run was trained on: {}{}", path,
      difference(dataset, {spec.data_digest, spec.extent, spec.columns, spec.stretches}),
      grown ? "; new events may only come after the old ones" : "");
}

}  // namespace curnm
