#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/open_predictor.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/csv.h"
#include "curnm/base/names.h"
#include "curnm/data/event_table.h"
#include "curnm/data/open.h"
#include "curnm/data/reader.h"
#include "curnm/prediction/predictor.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

struct PredictFlags {
  std::string run;
  std::string data;
  std::string src;
  std::string time_text;
  double time = 0;
  std::int64_t topk = 10;
  std::string pairs;
  std::string question;
  GivenOptions read;
  std::int64_t threads = 0;
  bool json = false;

  /// The output that answers: by default the one that fits what is asked for.
  Question asked() const {
    if (question.empty()) return pairs.empty() ? Question::kDestination : Question::kPair;
    const auto names = choice_names(Question{});
    const auto found = std::ranges::find(names, question);
    if (found == names.end()) {
      unknown_name("question", question, std::vector<std::string_view>(names.begin(), names.end()));
    }
    return static_cast<Question>(found - names.begin());
  }
};

struct Query {
  NodeId src;
  NodeId dst;
  Timestamp time;
  float score = 0;
};

std::vector<Query> read_questions(const fs::path& path, const Predictor& predictor,
                                  const ReadOptions& options) {
  const std::unique_ptr<Rows> table = open_table(path, options);
  Rows& rows = *table;
  const TableLayout layout = table_layout(rows, options);
  const EventLog& log = predictor.dataset().events;
  TimeColumn times;
  std::vector<Query> questions;
  while (rows.next()) {
    if (rows.fields().size() != layout.width) {
      rows.fail_here("{} columns instead of {}", rows.fields().size(), layout.width);
    }
    const auto at = [&](int column) { return rows.fields()[static_cast<std::size_t>(column)]; };
    const auto node = [&](int column, NodeId like) {
      try {
        return predictor.find(at(column), like);
      } catch (const Error& error) {
        rows.fail_here("{}", error.what());
      }
    };
    questions.push_back({node(layout.src, log.src.front()), node(layout.dst, log.dst.front()),
                         times.parse(rows, at(layout.time))});
  }
  if (times.without_zone() > 0) {
    say("note: {} dates have no zone and are taken as UTC\n", grouped(times.without_zone()));
  }
  if (questions.empty()) fail("{} has no pairs", path.string());
  return questions;
}

void print_answers(const std::vector<Query>& answers, const IdMap& ids, bool json) {
  const auto probability = [](float logit) {
    return 1 / (1 + std::exp(-static_cast<double>(logit)));
  };
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Query& a : answers) {
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
  for (const Query& a : answers) {
    fmt::print("{},{},{},{:.6f}\n", csv_field(ids.name(a.src)), csv_field(ids.name(a.dst)), a.time,
               probability(a.score));
  }
}

std::vector<Query> likeliest(const Predictor& predictor, const PredictFlags& flags) {
  const EventLog& log = predictor.dataset().events;
  const NodeId src = predictor.find(flags.src, log.src.front());
  if (is_bipartite(log) && std::ranges::find(log.src, src) == log.src.end()) {
    say("note: {} is no source of this network but a destination\n", flags.src);
  }
  std::vector<Query> answers;
  for (const Prediction& found : predictor.top(src, flags.time, flags.topk, flags.asked())) {
    answers.push_back({src, found.node, flags.time, found.logit});
  }
  return answers;
}

/// Pairs have the columns of the events, but need not have their features.
ReadOptions pair_options(const PredictFlags& flags) {
  ReadOptions options = read_options(flags.read);
  options.separate_ids = SeparateIds::kOff;  // names are looked up as they are
  return options;
}

std::vector<Query> scored_pairs(const Predictor& predictor, const PredictFlags& flags) {
  std::vector<Query> questions = read_questions(flags.pairs, predictor, pair_options(flags));
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (const Query& question : questions) {
    src.push_back(question.src);
    dst.push_back(question.dst);
    time.push_back(question.time);
  }
  const std::vector<float> scores = predictor.score({src, dst, time}, flags.asked());
  for (std::size_t i = 0; i < scores.size(); ++i) questions[i].score = scores[i];
  return questions;
}

/// A model with one score answers every question alike: asking for one of them would be ignored.
void check_question(const PredictFlags& flags, const TrainedModel& model) {
  if (flags.question.empty() || model.outputs > 1) return;
  throw OptionError(OptionError::Kind::kNoEffect, "question",
                    fmt::format("--question {} has no effect on {}, which has one score for "
                                "everything: train with --outputs questions (miners mixture and "
                                "curnm) to have one for each question",
                                flags.question, flags.run));
}

void run_predict(const PredictFlags& flags) {
  set_threads(flags.threads);
  flags.asked();  // a question that does not exist is reported before anything is read
  const Predictor predictor = open_predictor(flags.run, flags.data, flags.read);
  check_question(flags, predictor.model());
  print_answers(flags.pairs.empty() ? likeliest(predictor, flags) : scored_pairs(predictor, flags),
                predictor.dataset().ids, flags.json);
}

}  // namespace

void add_predict(CLI::App& app) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict", "Score links with a trained model");
  command->add_option("run", flags->run, "folder of a run, or a file that `curnm export` wrote")
      ->required();
  command->add_option("--data", flags->data,
                      "the run's network, where it is now; later events may have been added");
  command->add_option("--src", flags->src, "source, by its name in the data");
  command->add_option("--time", flags->time_text,
                      "time of the question, a number or a date (UTC without a zone)");
  command->add_option("--topk", flags->topk, "the likeliest destinations")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}))
      ->capture_default_str();
  command->add_option("--pairs", flags->pairs, "table of src,dst,time to score instead");
  command->add_option("--question", flags->question,
                      "what scores answer: which destination (default with --src), which former "
                      "partner, or which pair (default with --pairs)");
  add_read_flags(*command, flags->read);
  command->add_option("--threads", flags->threads, "0: OMP_NUM_THREADS or all cores");
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, command] {
    const auto given = [&](const char* flag) { return command->count(flag) > 0; };
    const bool one = given("--src") && given("--time");
    const bool part_of_one = given("--src") || given("--time") || given("--topk");
    if (flags->pairs.empty() ? !one : part_of_one) {
      throw UsageError("give either --src and --time (and --topk), or --pairs FILE");
    }
    if (given("--time")) flags->time = parse_time("time", flags->time_text);
    run_predict(*flags);
  });
}

}  // namespace curnm::cli
