#include "cli/answers.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "curnm/base/csv.h"
#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/data/npy.h"

namespace curnm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

double probability(float logit) { return 1 / (1 + std::exp(-static_cast<double>(logit))); }

/// Text that goes to a file, which appears when it is complete, or to the standard output.
class TextOutput {
 public:
  explicit TextOutput(const std::string& out) {
    if (!out.empty()) file_ = std::make_unique<AtomicFile>(out);
  }

  void write(std::string_view text) {
    constexpr std::size_t kBlock = 1 << 16;
    waiting_ += text;
    if (waiting_.size() >= kBlock) flush();
  }
  void finish() {
    flush();
    if (file_) file_->commit();
  }

 private:
  void flush() {
    if (file_) {
      file_->append(waiting_);
    } else if (std::fwrite(waiting_.data(), 1, waiting_.size(), stdout) != waiting_.size()) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot write to the standard output");
    }
    waiting_.clear();
  }

  std::unique_ptr<AtomicFile> file_;
  std::string waiting_;
};

class CsvWriter final : public AnswerWriter {
 public:
  explicit CsvWriter(const AnswerSettings& settings)
      : out_(settings.out), explained_(settings.explained) {
    std::string header = "src,dst,time,probability";
    if (!explained_.empty()) header += ",why,typical_logit";
    for (const std::string& part : explained_) header += ",moved_" + part;
    out_.write(header + "\n");
  }
  void add(std::span<const Answer> answers) override {
    for (const Answer& a : answers) {
      std::string row = fmt::format("{},{},{},{}", csv_field(a.src), csv_field(a.dst), a.time,
                                    a.logit ? fmt::format("{:.6f}", probability(*a.logit)) : "");
      if (a.why) {
        row += fmt::format(",{},{}", csv_field(a.words), a.why->typical);
        for (const Explanation::Part& part : a.why->parts) row += fmt::format(",{}", part.moved);
      } else if (!explained_.empty()) {
        row.append(explained_.size() + 2, ',');
      }
      out_.write(row + "\n");
    }
  }
  void finish() override { out_.finish(); }

 private:
  TextOutput out_;
  std::vector<std::string> explained_;
};

ordered_json to_json(const Answer& a) {
  ordered_json json = {{"src", a.src}, {"dst", nullptr}, {"time", a.time}};
  if (!a.dst.empty()) json["dst"] = a.dst;
  json["logit"] = a.logit ? ordered_json(*a.logit) : ordered_json();
  json["probability"] = a.logit ? ordered_json(probability(*a.logit)) : ordered_json();
  if (a.why) json["why"] = to_json(*a.why, a.words);
  return json;
}

/// Names need not be UTF-8; JSON must be.
std::string text_of(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}

/// One document, which has to be complete before it can be written.
class JsonWriter final : public AnswerWriter {
 public:
  explicit JsonWriter(const std::string& out) : out_(out) {}
  void add(std::span<const Answer> answers) override {
    for (const Answer& a : answers) list_.push_back(to_json(a));
  }
  void finish() override {
    out_.write(text_of(list_, /*indent=*/2) + "\n");
    out_.finish();
  }

 private:
  TextOutput out_;
  ordered_json list_ = ordered_json::array();
};

class JsonLinesWriter final : public AnswerWriter {
 public:
  explicit JsonLinesWriter(const std::string& out) : out_(out) {}
  void add(std::span<const Answer> answers) override {
    for (const Answer& a : answers) out_.write(text_of(to_json(a), /*indent=*/-1) + "\n");
  }
  void finish() override { out_.finish(); }

 private:
  TextOutput out_;
};

/// A numpy array in a file, row by row.
class NpyColumn {
 public:
  NpyColumn(const fs::path& path, std::string_view type, std::vector<std::int64_t> shape)
      : out_(path.string()) {
    out_.write(npy_header(type, shape));
  }
  template <class T>
  void add(const T& value) {
    out_.write({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  void finish() { out_.finish(); }

 private:
  TextOutput out_;
};

/// A folder with a numpy array for each column: src [n], dst [n,k], logit [n,k]. Nodes are numbers;
/// ids.csv names them.
class ColumnsWriter final : public AnswerWriter {
 public:
  ColumnsWriter(const AnswerSettings& settings, const IdMap& ids, NodeId num_nodes)
      : folder_(settings.out, /*replace=*/false),
        most_(settings.most),
        src_(folder_.staging() / "src.npy", "<i8", {settings.questions}),
        dst_(folder_.staging() / "dst.npy", "<i8", {settings.questions, settings.most}),
        logit_(folder_.staging() / "logit.npy", "<f4", {settings.questions, settings.most}) {
    TextOutput names((folder_.staging() / "ids.csv").string());
    names.write("id\n");
    for (NodeId node = 0; node < num_nodes; ++node) names.write(csv_field(ids.name(node)) + "\n");
    names.finish();
  }
  void add(std::span<const Answer> answers) override {
    src_.add(std::int64_t{answers.front().src_node});
    for (std::int64_t i = 0; i < most_; ++i) {
      const bool present = i < std::ssize(answers) && answers[index(i)].logit;
      dst_.add(std::int64_t{present ? answers[index(i)].dst_node : kNoNode});
      logit_.add(present ? *answers[index(i)].logit : std::numeric_limits<float>::quiet_NaN());
    }
  }
  void finish() override {
    for (NpyColumn* column : {&src_, &dst_, &logit_}) column->finish();
    folder_.commit();
  }

 private:
  AtomicFolder folder_;
  std::int64_t most_;
  NpyColumn src_;
  NpyColumn dst_;
  NpyColumn logit_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_writer(const AnswerSettings& settings, const IdMap& ids,
                                          NodeId num_nodes) {
  switch (settings.format) {
    case AnswerFormat::kCsv:
      return std::make_unique<CsvWriter>(settings);
    case AnswerFormat::kJson:
      return std::make_unique<JsonWriter>(settings.out);
    case AnswerFormat::kJsonLines:
      return std::make_unique<JsonLinesWriter>(settings.out);
    case AnswerFormat::kColumns:
      return std::make_unique<ColumnsWriter>(settings, ids, num_nodes);
  }
  CURNM_ASSERT(false);
}

}  // namespace curnm::cli
