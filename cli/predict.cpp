#include <algorithm>
#include <filesystem>
#include <functional>

#include "cli/answers.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predictor.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "curnm/base/names.h"
#include "curnm/data/pair_table.h"
#include "curnm/prediction/predictor.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostAnswers = 1000000000;

struct PredictFlags {
  PredictorFlags model;
  std::string src;
  std::string sources;  // all, or a file
  std::string time_text;
  double time = 0;
  std::int64_t topk = 10;
  bool exclude_seen = false;
  std::string candidates;
  std::string among = "all";
  std::string pairs;
  std::string question;
  bool strict = false;
  bool explain = false;
  std::string format = "csv";
  bool json = false;
  std::string out;

  Unknown unknown() const { return strict ? Unknown::kStop : Unknown::kCount; }

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
  AnswerFormat chosen_format() const {
    AnswerFormat chosen = AnswerFormat::kJson;
    if (!json) OptionValue(chosen).parse({.name = "format"}, format);
    return chosen;
  }
  Among chosen_among() const {
    Among chosen = Among::kAll;
    OptionValue(chosen).parse({.name = "among"}, among);
    return chosen;
  }
};

/// Pairs to score, as they stand in a table.
struct PairTable {
  std::vector<Answer> rows;
  std::int64_t unknown = 0;  // how many have a node that the network does not have
};

PairTable read_pairs(const fs::path& path, const Predictor& predictor, const ReadOptions& options,
                     Unknown unknown) {
  const EventLog& log = predictor.dataset().events;
  PairTable pairs;
  const auto find = [&](std::string_view name, NodeId like) {
    return unknown == Unknown::kCount ? predictor.find_known(name, like)
                                      : predictor.find(name, like);
  };
  // As the network has it; where it has none, as the table does.
  const auto name_of = [&](NodeId found, std::string_view given) {
    return found == kNoNode ? std::string(given) : predictor.dataset().ids.name(found);
  };
  const std::int64_t without_zone = for_each_pair(path, options, [&](const PairRow& row) {
    const NodeId src = find(row.src, log.src.front());
    const NodeId dst = find(row.dst, log.dst.front());
    pairs.rows.push_back({.src = name_of(src, row.src),
                          .dst = name_of(dst, row.dst),
                          .src_node = src,
                          .dst_node = dst,
                          .time = row.time});
    if (src == kNoNode || dst == kNoNode) ++pairs.unknown;
  });
  if (without_zone > 0) {
    say("note: {} dates have no zone and are taken as UTC\n", grouped(without_zone));
  }
  return pairs;
}

/// The pairs of a table with their scores; those with an unknown node have none.
PairTable scored_pairs(const Predictor& predictor, const PredictFlags& flags) {
  PairTable pairs =
      read_pairs(flags.pairs, predictor, read_options(flags.model.read), flags.unknown());
  std::vector<Answer*> known;
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (Answer& row : pairs.rows) {
    if (row.src_node == kNoNode || row.dst_node == kNoNode) continue;
    known.push_back(&row);
    src.push_back(row.src_node);
    dst.push_back(row.dst_node);
    time.push_back(row.time);
  }
  const std::vector<float> scores = predictor.score({src, dst, time}, flags.asked());
  for (std::size_t i = 0; i < scores.size(); ++i) known[i]->logit = scores[i];
  return pairs;
}

/// Adds why the answers that there are score as they do.
void explain(std::span<Answer> answers, const Predictor& predictor, Question question) {
  std::vector<Answer*> known;
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  std::vector<Timestamp> time;
  for (Answer& answer : answers) {
    if (!answer.logit) continue;
    known.push_back(&answer);
    src.push_back(answer.src_node);
    dst.push_back(answer.dst_node);
    time.push_back(answer.time);
  }
  const TimeUnit unit = TimeUnit::of(predictor.dataset().events);
  std::vector<Explanation> found = predictor.explain({src, dst, time}, question);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Answer& answer = *known[i];
    const IdMap& ids = predictor.dataset().ids;
    answer.words = in_words(found[i].facts, ids.name(answer.src_node), ids.name(answer.dst_node),
                            answer.time, unit);
    answer.why = std::move(found[i]);
  }
}

std::vector<std::string> explained_parts(const Predictor& predictor, const PredictFlags& flags) {
  if (!flags.explain) return {};
  return predictor.explained_parts();
}

void note_unknown(std::int64_t unknown, std::size_t all, std::string_view what,
                  std::string_view consequence) {
  if (unknown == 0) return;
  say("note: {} of {} {} not in the network: {} (--strict stops instead)\n", grouped(unknown),
      grouped(static_cast<std::int64_t>(all)), what, consequence);
}

void predict_pairs(const Predictor& predictor, const PredictFlags& flags) {
  PairTable pairs = scored_pairs(predictor, flags);
  if (flags.explain) explain(pairs.rows, predictor, flags.asked());
  const auto writer = make_writer({.format = flags.chosen_format(),
                                   .out = flags.out,
                                   .explained = explained_parts(predictor, flags)},
                                  predictor.dataset().ids, predictor.dataset().events.num_nodes);
  for (const Answer& row : pairs.rows) writer->add(std::span(&row, 1));
  writer->finish();
  note_unknown(pairs.unknown, pairs.rows.size(), "pairs have a node that is",
               "their scores are empty");
}

/// Who is asked about: one source, all of them, or those in a file.
NodeList asked_sources(const Predictor& predictor, const PredictFlags& flags) {
  const EventLog& log = predictor.dataset().events;
  if (flags.sources.empty()) {
    const NodeId src = predictor.find(flags.src, log.src.front());
    if (is_bipartite(log) && std::ranges::find(log.src, src) == log.src.end()) {
      say("note: {} is no source of this network but a destination\n", flags.src);
    }
    return {.entries = {{predictor.dataset().ids.name(src), src}}};
  }
  if (flags.sources != "all") {
    return read_nodes(flags.sources, predictor, log.src.front(), flags.unknown());
  }
  NodeList all;
  for (const NodeId node : predictor.sources(flags.time)) {
    all.entries.push_back({predictor.dataset().ids.name(node), node});
  }
  return all;
}

TopQuery query_of(const Predictor& predictor, const PredictFlags& flags) {
  TopQuery query{.k = std::min<std::int64_t>(flags.topk, predictor.dataset().events.num_nodes),
                 .question = flags.asked(),
                 .seen = flags.exclude_seen ? Seen::kExcluded : Seen::kIncluded,
                 .among = flags.chosen_among()};
  if (flags.candidates.empty()) return query;
  const NodeList list = read_nodes(flags.candidates, predictor,
                                   predictor.dataset().events.dst.front(), flags.unknown());
  note_unknown(list.unknown, list.entries.size(), "candidates are", "they are left out");
  query.candidates = list.known();
  if (query.candidates->empty()) fail("no candidate of {} is in the network", flags.candidates);
  return query;
}

/// Writes what is found for each source, in the order of the list, with an empty row where nothing
/// is.
class SourceAnswers {
 public:
  /// `explain`: called with some of the answers before they are written, if there is something to
  /// explain.
  using Explain = std::function<void(std::span<Answer>)>;

  SourceAnswers(const NodeList& sources, const IdMap& ids, Timestamp time, AnswerWriter& writer,
                Explain explain)
      : entries_(sources.entries),
        ids_(ids),
        time_(time),
        writer_(writer),
        explain_(std::move(explain)) {}

  void operator()(NodeId, std::span<const Prediction> best) {
    skip_unknown();
    const NodeList::Entry& source = entries_[next_];
    for (const Prediction& found : best) {
      waiting_.push_back({.src = source.name,
                          .dst = ids_.name(found.node),
                          .src_node = source.node,
                          .dst_node = found.node,
                          .time = time_,
                          .logit = found.logit});
    }
    if (best.empty())
      waiting_.push_back({.src = source.name, .src_node = source.node, .time = time_});
    ends_.push_back(waiting_.size());
    ++next_;
    write_from(explain_ ? kBlock : 0);
    draw();
  }
  void finish() {
    skip_unknown();
    write_from(0);
    writer_.finish();
    bar_.end();
  }

 private:
  void skip_unknown() {
    for (; next_ < entries_.size() && entries_[next_].node == kNoNode; ++next_) {
      waiting_.push_back({.src = entries_[next_].name, .time = time_});
      ends_.push_back(waiting_.size());
    }
  }
  /// Writes the answers that wait, if there are at least as many.
  void write_from(std::size_t least) {
    if (waiting_.size() < least) return;
    if (explain_) explain_(waiting_);
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      writer_.add(std::span(waiting_).subspan(begin, end - begin));
      begin = end;
    }
    waiting_.clear();
    ends_.clear();
  }
  void draw() {
    if (entries_.size() == 1 || !bar_.is_due(/*last=*/next_ == entries_.size())) return;
    bar_.draw(static_cast<double>(next_) / static_cast<double>(entries_.size()),
              fmt::format("of {} sources, {:.0f} a second", grouped(std::ssize(entries_)),
                          static_cast<double>(next_) / std::max(bar_.seconds(), 1e-3)));
  }

  const std::vector<NodeList::Entry>& entries_;
  const IdMap& ids_;
  static constexpr std::size_t kBlock = 16384;  // answers that are explained at once

  Timestamp time_;
  AnswerWriter& writer_;
  Explain explain_;
  std::vector<Answer> waiting_;
  std::vector<std::size_t> ends_;  // where the answers of each source that waits end
  std::size_t next_ = 0;
  ProgressBar bar_;
};

void predict_top(const Predictor& predictor, const PredictFlags& flags) {
  const NodeList sources = asked_sources(predictor, flags);
  const TopQuery query = query_of(predictor, flags);
  const Dataset& dataset = predictor.dataset();
  const auto writer = make_writer({.format = flags.chosen_format(),
                                   .out = flags.out,
                                   .questions = std::ssize(sources.entries),
                                   .most = query.k,
                                   .explained = explained_parts(predictor, flags)},
                                  dataset.ids, dataset.events.num_nodes);
  SourceAnswers::Explain why;
  if (flags.explain) {
    why = [&](std::span<Answer> some) { explain(some, predictor, query.question); };
  }
  SourceAnswers answers(sources, dataset.ids, flags.time, *writer, why);
  predictor.top(sources.known(), flags.time, query,
                [&](NodeId src, std::span<const Prediction> best) {
                  if (best.empty() && flags.sources.empty()) {
                    fail("{} has no destination to choose from at time {}", flags.src, flags.time);
                  }
                  answers(src, best);
                });
  answers.finish();
  note_unknown(sources.unknown, sources.entries.size(), "sources are", "their rows are empty");
}

/// A model with one score answers every question alike: asking for one of them would be ignored.
void check_question(const PredictFlags& flags, const TrainedModel& model) {
  if (flags.question.empty() || model.outputs > 1) return;
  throw OptionError(OptionError::Kind::kNoEffect, "question",
                    fmt::format("--question {} has no effect on {}, which has one score for "
                                "everything: train with --outputs questions (miners mixture and "
                                "curnm) to have one for each question",
                                flags.question, flags.model.run));
}

void run_predict(const PredictFlags& flags) {
  const Predictor predictor = open_predictor(flags.model);
  check_question(flags, predictor.model());
  if (flags.explain && predictor.explained_parts().size() == 2) {  // source and destination
    say("note: --explain: of what the decoder {} sees, only the embeddings of the two nodes can be "
        "told apart; the words are what counting knows of the pair\n",
        predictor.model().decoder);
  }
  flags.pairs.empty() ? predict_top(predictor, flags) : predict_pairs(predictor, flags);
}

/// Before anything is read: what contradicts itself, does not exist or would be ignored.
void check_flags(const PredictFlags& flags, const CLI::App& command) {
  const auto given = [&](const char* flag) { return command.count(flag) > 0; };
  if (given("--src") + given("--sources") + given("--pairs") != 1 ||
      given("--time") == given("--pairs")) {
    throw UsageError(
        "give either --src and --time, --sources and --time, or --pairs FILE, which has times");
  }
  if (given("--pairs")) {
    refuse_flags(command, {"--topk", "--exclude-seen", "--candidates", "--among"}, "--pairs");
  }
  if (given("--src") && !given("--candidates")) refuse_flags(command, {"--strict"}, "--src");
  if (flags.sources == "all" && !given("--candidates")) {
    refuse_flags(command, {"--strict"}, "--sources all");
  }
  flags.asked();
  flags.chosen_among();
  if (flags.chosen_format() != AnswerFormat::kColumns) return;
  refuse_flags(command, {"--explain"}, "--format columns");
  if (given("--pairs")) throw UsageError("--format columns is for --sources, not for --pairs");
  if (!given("--out")) throw UsageError("--format columns needs --out, a folder to write");
}

}  // namespace

void add_predict(CLI::App& app) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict", "Score links with a trained model");
  flags->model.add_to(*command);
  command->add_option("--src", flags->src, "source, by its name in the data");
  command->add_option("--sources", flags->sources,
                      "many sources in one pass: all, or a file with a name on each line");
  command->add_option("--time", flags->time_text,
                      "time of the question, a number or a date (UTC without a zone)");
  command->add_option("--topk", flags->topk, "the likeliest destinations")
      ->check(CLI::Range(std::int64_t{1}, kMostAnswers))
      ->capture_default_str();
  command->add_flag("--exclude-seen", flags->exclude_seen,
                    "without destinations that the source has chosen before");
  command->add_option("--candidates", flags->candidates,
                      "file with a name on each line: choose from these destinations only");
  command->add_option("--among", flags->among, "all destinations, or former partners of the source")
      ->capture_default_str();
  command->add_option("--pairs", flags->pairs, "table of src,dst,time to score instead");
  command->add_option("--question", flags->question,
                      "what scores answer: which destination (default), which former partner, "
                      "which pair (default with --pairs), or which new_pair");
  command->add_flag("--strict", flags->strict,
                    "stop at a name that the network does not have, instead of counting them");
  command->add_flag("--explain", flags->explain,
                    "what is known of each pair, in words, and what moves its score");
  CLI::Option* format =
      command
          ->add_option("--format", flags->format,
                       "csv, json, jsonl (a JSON object per line), or columns (a folder of "
                       "numpy arrays)")
          ->capture_default_str();
  command->add_flag("--json", flags->json, "the same as --format json")->excludes(format);
  command->add_option("--out", flags->out, "file or folder to write instead of the output");
  command->callback([flags, command] {
    check_flags(*flags, *command);
    if (!flags->time_text.empty()) flags->time = parse_time("time", flags->time_text);
    run_predict(*flags);
  });
}

}  // namespace curnm::cli
