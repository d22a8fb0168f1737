#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "curnm/base/options.h"
#include "curnm/data/id_map.h"
#include "curnm/prediction/explanation.h"

// What `curnm predict` writes: one row per answer, in several formats.

namespace curnm::cli {

/// A pair and how likely it is; or a question without an answer: without a destination, or with
/// one and no logit where the network does not have one of the two.
struct Answer {
  std::string src;
  std::string dst;
  NodeId src_node = kNoNode;
  NodeId dst_node = kNoNode;
  Timestamp time = 0;
  std::optional<float> logit;
  std::optional<Explanation> why;  // where there is a logit, if it is asked for
  std::string words;               // of the explanation
};

enum class AnswerFormat { kCsv, kJson, kJsonLines, kColumns };
constexpr ChoiceNames<4> choice_names(AnswerFormat) { return {"csv", "json", "jsonl", "columns"}; }

/// Writes answers as they come. What it writes to a file or folder appears at the end, all at once.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  /// All answers to one question: the likeliest destinations of a source, or one pair. At least one
  /// row.
  virtual void add(std::span<const Answer> answers) = 0;
  virtual void finish() = 0;
};

/// To the standard output where `out` is empty. `questions` and `most`: how many questions there
/// will be, and the most answers that one has, for columns. Throws UsageError for columns without a
/// folder to write.
struct AnswerSettings {
  AnswerFormat format = AnswerFormat::kCsv;
  std::string out;
  std::int64_t questions = 0;
  std::int64_t most = 0;
  /// The parts of explanations, for the columns of a table; nothing where they are not asked for.
  std::vector<std::string> explained = {};
};
std::unique_ptr<AnswerWriter> make_writer(const AnswerSettings& settings, const IdMap& ids,
                                          NodeId num_nodes);

}  // namespace curnm::cli
