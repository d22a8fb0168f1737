#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/csv.h"
#include "curnm/base/names.h"
#include "curnm/data/event_table.h"
#include "curnm/data/reader.h"
#include "curnm/evaluation/evaluate.h"
#include "curnm/training/run.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

struct PredictFlags {
  std::string run;
  std::string data;
  std::string src;
  double time = 0;
  std::int64_t topk = 10;
  std::string pairs;
  std::int64_t threads = 0;
  bool json = false;
};

/// Outside names to nodes, for many questions.
class Names {
 public:
  explicit Names(const LinkTask& task) {
    for (NodeId node = 0; node < task.log().num_nodes; ++node) {
      nodes_.emplace(task.dataset().ids.name(node), node);
    }
  }
  NodeId find(const std::string& name) const {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found->second;
    std::vector<std::string_view> some;
    for (const auto& [known, node] : nodes_) some.push_back(known);
    const std::string_view near = nearest_name(name, some);
    fail("node '{}' is not in the network{}", name,
         near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }

 private:
  std::map<std::string, NodeId> nodes_;
};

struct Question {
  NodeId src;
  NodeId dst;
  Timestamp time;
  float score = 0;
};

/// Scores questions in time order, each from everything that happened strictly before it.
void answer(Trainer& trainer, std::vector<Question>& questions) {
  std::vector<Question*> order;
  for (Question& question : questions) order.push_back(&question);
  std::stable_sort(order.begin(), order.end(),
                   [](const Question* a, const Question* b) { return a->time < b->time; });
  const EventLog& log = trainer.task().log();
  trainer.start_over();
  LinkScorer scorer = trainer.scorer();
  for (std::size_t begin = 0; begin < order.size();) {
    const Timestamp t = order[begin]->time;
    std::size_t end = begin;
    std::vector<NodeId> src;
    std::vector<NodeId> dst;
    for (; end < order.size() && order[end]->time == t; ++end) {
      src.push_back(order[end]->src);
      dst.push_back(order[end]->dst);
    }
    trainer.advance_to(std::lower_bound(log.time.begin(), log.time.end(), t) - log.time.begin());
    const std::vector<Timestamp> times(src.size(), t);
    const std::vector<float> scores = score_in_blocks(scorer, {src, dst, times}, t);
    for (std::size_t i = begin; i < end; ++i) order[i]->score = scores[i - begin];
    begin = end;
  }
}

std::vector<Question> read_questions(const fs::path& path, const Names& names) {
  const TextFile file(path);
  RowReader rows(file.text(), path);
  const TableLayout layout = table_layout(rows, {});
  std::vector<Question> questions;
  while (rows.next()) {
    if (rows.fields().size() != layout.width) {
      rows.fail_here("{} columns instead of {}", rows.fields().size(), layout.width);
    }
    const auto at = [&](int column) { return rows.fields()[static_cast<std::size_t>(column)]; };
    const auto node = [&](int column) {
      try {
        return names.find(std::string(at(column)));
      } catch (const Error& error) {
        rows.fail_here("{}", error.what());
      }
    };
    questions.push_back({node(layout.src), node(layout.dst), parse_time(rows, at(layout.time))});
  }
  if (questions.empty()) fail("{} has no pairs", path.string());
  return questions;
}

void print_answers(const std::vector<Question>& answers, const IdMap& ids, bool json) {
  const auto probability = [](float logit) {
    return 1 / (1 + std::exp(-static_cast<double>(logit)));
  };
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Question& a : answers) {
      list.push_back({{"src", ids.name(a.src)},
                      {"dst", ids.name(a.dst)},
                      {"time", a.time},
                      {"logit", a.score},
                      {"probability", probability(a.score)}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  fmt::print("src,dst,time,probability\n");
  for (const Question& a : answers) {
    fmt::print("{},{},{},{:.6f}\n", csv_field(ids.name(a.src)), csv_field(ids.name(a.dst)), a.time,
               probability(a.score));
  }
}

void run_predict(const PredictFlags& flags) {
  set_threads(flags.threads);
  const RunSpec spec = read_run(flags.run);
  Dataset dataset = open_run_data(spec, flags.data, /*grown=*/true);
  const Extent known = spec.extent.events > 0 ? spec.extent : dataset.extent();
  const LinkTask task(std::move(dataset), spec.task, known);
  Trainer trainer(task, spec.train, spec.model, spec.miner);
  trainer.take_best(read_checkpoint(flags.run));
  const Names names(task);

  std::vector<Question> questions;
  if (flags.pairs.empty()) {
    const NodeId src = names.find(flags.src);
    const auto& sources = task.log().src;
    if (is_bipartite(task.log()) && std::ranges::find(sources, src) == sources.end()) {
      say("note: {} is no source of this network but a destination\n", flags.src);
    }
    for (NodeId dst : task.choices(src, flags.time)) questions.push_back({src, dst, flags.time});
    if (questions.empty()) fail("nothing has happened before time {}", flags.time);
  } else {
    questions = read_questions(flags.pairs, names);
  }
  answer(trainer, questions);
  if (flags.pairs.empty()) {
    std::stable_sort(questions.begin(), questions.end(),
                     [](const Question& a, const Question& b) { return a.score > b.score; });
    questions.resize(std::min(questions.size(), static_cast<std::size_t>(flags.topk)));
  }
  print_answers(questions, task.dataset().ids, flags.json);
}

}  // namespace

void add_predict(CLI::App& app) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict", "Score links with a trained run");
  command->add_option("run", flags->run, "folder of a run")->required();
  command->add_option("--data", flags->data,
                      "the run's network, where it is now; later events may have been added");
  command->add_option("--src", flags->src, "source, by its name in the data");
  command->add_option("--time", flags->time, "time of the question");
  command->add_option("--topk", flags->topk, "the likeliest destinations")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}))
      ->capture_default_str();
  command->add_option("--pairs", flags->pairs, "table of src,dst,time to score instead");
  command->add_option("--threads", flags->threads, "0: all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] {
    const auto given = [&](const char* flag) { return command->count(flag) > 0; };
    const bool one = given("--src") && given("--time");
    const bool part_of_one = given("--src") || given("--time") || given("--topk");
    if (flags->pairs.empty() ? !one : part_of_one) {
      throw UsageError("give either --src and --time (and --topk), or --pairs FILE");
    }
    if (!std::isfinite(flags->time)) throw UsageError("--time must be a finite number");
    run_predict(*flags);
  });
}

}  // namespace curnm::cli
