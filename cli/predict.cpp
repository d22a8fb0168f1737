#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/csv.h"
#include "curnm/base/names.h"
#include "curnm/data/event_table.h"
#include "curnm/data/open.h"
#include "curnm/data/reader.h"
#include "curnm/prediction/predictor.h"
#include "curnm/training/session.h"

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
  std::string question;
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

std::vector<Query> read_questions(const fs::path& path, const Predictor& predictor) {
  const TextFile file(path);
  RowReader rows(file.text(), path);
  const TableLayout layout = table_layout(rows, {});
  std::vector<Query> questions;
  while (rows.next()) {
    if (rows.fields().size() != layout.width) {
      rows.fail_here("{} columns instead of {}", rows.fields().size(), layout.width);
    }
    const auto at = [&](int column) { return rows.fields()[static_cast<std::size_t>(column)]; };
    const auto node = [&](int column) {
      try {
        return predictor.find(at(column));
      } catch (const Error& error) {
        rows.fail_here("{}", error.what());
      }
    };
    questions.push_back({node(layout.src), node(layout.dst), parse_time(rows, at(layout.time))});
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

/// Opens a run's folder or an exported file, with the events so far.
Predictor open_predictor(const PredictFlags& flags) {
  if (is_model_file(flags.run)) {
    TrainedModel model = load_model(flags.run);
    Dataset dataset = open_dataset(flags.data.empty() ? model.data : flags.data);
    return {std::move(model), std::move(dataset)};
  }
  const RunFolder folder(flags.run);
  const RunSpec spec = read_run(folder, RunUse::kTest);
  Dataset dataset = open_run_data(spec, flags.data, /*grown=*/true);
  TrainedModel model = read_trained_model(folder, spec, dataset);
  return {std::move(model), std::move(dataset)};
}

std::vector<Query> likeliest(const Predictor& predictor, const PredictFlags& flags) {
  const NodeId src = predictor.find(flags.src);
  const EventLog& log = predictor.dataset().events;
  if (is_bipartite(log) && std::ranges::find(log.src, src) == log.src.end()) {
    say("note: {} is no source of this network but a destination\n", flags.src);
  }
  std::vector<Query> answers;
  for (const Prediction& found : predictor.top(src, flags.time, flags.topk, flags.asked())) {
    answers.push_back({src, found.node, flags.time, found.logit});
  }
  return answers;
}

std::vector<Query> scored_pairs(const Predictor& predictor, const PredictFlags& flags) {
  std::vector<Query> questions = read_questions(flags.pairs, predictor);
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
  const Predictor predictor = open_predictor(flags);
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
  command->add_option("--time", flags->time, "time of the question");
  command->add_option("--topk", flags->topk, "the likeliest destinations")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}))
      ->capture_default_str();
  command->add_option("--pairs", flags->pairs, "table of src,dst,time to score instead");
  command->add_option("--question", flags->question,
                      "what scores answer: which destination (default with --src), which former "
                      "partner, or which pair (default with --pairs)");
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
