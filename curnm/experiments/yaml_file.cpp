#include "curnm/experiments/yaml_file.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/base/printable.h"

namespace curnm {
namespace {

// A file of a few hundred bytes can ask for anything by aliases. The limits are far above what
// anyone writes.
constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::int64_t kMostNodes = 100'000;  // in the file, and again by << of maps

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

}  // namespace

YAML::Node YamlFile::Map::operator[](std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.Scalar() == key) return value;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

void YamlFile::wrong(const YAML::Mark& mark, const std::string& what) const {
  if (mark.is_null()) fail<UsageError>("{}: {}", file_, what);
  fail<UsageError>("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, what);
}

YAML::Node YamlFile::parse(std::string_view yaml) const {
  if (yaml.size() > kMostBytes) {
    fail<UsageError>("{}: {} bytes are more than such a file has ({})", file_, yaml.size(),
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
    wrong(count.start(), fmt::format("a file has one {}; a second begins here", content_));
  }
  return YAML::Load(text);
}

const YamlFile::Map& YamlFile::merged(const YAML::Node& node, int depth) const {
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

void YamlFile::check_keys(const Map& map, const std::vector<std::string_view>& known) const {
  std::set<std::string> seen;
  for (const auto& entry : map.entries) {
    const std::string key = text(entry.first);
    known_name(entry.first.Mark(), "key", key, known);
    if (!seen.insert(key).second) wrong(entry.first, fmt::format("'{}' stands here twice", key));
  }
}

void YamlFile::known_name(const YAML::Mark& mark, std::string_view kind, const std::string& name,
                          const std::vector<std::string_view>& known) const {
  if (std::ranges::find(known, name) != known.end()) return;
  try {
    unknown_name(kind, name, known);
  } catch (const Error& error) {
    wrong(mark, error.what());
  }
}

std::string YamlFile::text(const YAML::Node& node) const {
  if (!node.IsScalar()) wrong(node, "a single value was expected here");
  if (has_control_characters(node.Scalar())) wrong(node, "control characters are not allowed");
  if (!is_text(node.Scalar())) wrong(node, "this is not UTF-8 text");
  return node.Scalar();
}

YamlFile::Options YamlFile::options(const YAML::Node& given,
                                    const std::vector<std::string_view>& known) const {
  Options all;
  if (!given || given.IsNull()) return all;
  if (!given.IsMap()) wrong(given, "options are a map: {epochs: 60}");
  const Map& map = merged(given);
  check_keys(map, known);
  for (const auto& entry : map.entries) {
    all[text(entry.first)] = {text(entry.second), entry.second.Mark()};
  }
  return all;
}

}  // namespace curnm
