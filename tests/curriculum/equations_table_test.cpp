#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// docs/equations.md against the sources that it is about.

namespace curnm {
namespace {

namespace fs = std::filesystem;

const fs::path kProject = CURNM_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All sources below these folders, one after the other.
std::string sources_in(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kProject / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp") text += text_of(entry.path());
    }
  }
  return text;
}

/// What the first group of a pattern finds, everywhere in the text.
std::vector<std::string> found(const std::string& text, const std::string& pattern) {
  std::vector<std::string> matches;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    matches.push_back((*at)[1]);
  }
  return matches;
}

/// The rows of all tables, without their heads.
std::vector<std::string> table_rows() {
  std::vector<std::string> rows;
  std::istringstream lines(text_of(kProject / "docs" / "equations.md"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| ---")) {
      if (!rows.empty() && rows.back().starts_with("| symbol |")) rows.pop_back();
    } else if (line.starts_with("| ") && !line.starts_with("| eq. |")) {
      rows.push_back(line);
    }
  }
  return rows;
}

TEST(EquationsTableTest, NamesTheEquationsThatTheSourcesName) {
  std::set<std::string> in_table;
  for (const std::string& row : table_rows()) {
    for (const std::string& number : found(row, R"(^\| \((\d+)\) \|)")) {
      EXPECT_TRUE(in_table.insert(number).second) << number << " twice";
    }
  }
  std::set<std::string> in_sources;
  const std::string sources = sources_in({"curnm/curriculum", "curnm/miners"});
  for (const std::string& number : found(sources, R"(Eqs?\. \((\d+)\))")) in_sources.insert(number);
  for (const std::string& number : found(sources, R"(Eqs\. \(\d+\) and \((\d+)\))")) {
    in_sources.insert(number);
  }
  EXPECT_EQ(in_table, in_sources);
  EXPECT_EQ(in_table.size(), 14u) << "the paper has that many";
}

TEST(EquationsTableTest, FunctionsAndTestsExist) {
  const std::string tests = sources_in({"tests/curriculum", "tests/decoders", "tests/miners"});
  const std::vector<std::string> rows = table_rows();
  ASSERT_GT(rows.size(), 14u);
  for (const std::string& row : rows) {
    std::string sources;
    for (const std::string& file : found(row, R"(\]\(\.\./([^)]+)\))")) {
      sources += text_of(kProject / file);
    }
    const std::vector<std::string> named_tests = found(row, R"(`(\w+\.\w+)`)");
    EXPECT_FALSE(sources.empty() || named_tests.empty()) << row;
    for (const std::string& function : found(row, R"(`(\w+)`)")) {
      EXPECT_TRUE(std::regex_search(sources, std::regex("\\b" + function + "\\b")))
          << function << " is not in the file of " << row;
    }
    for (const std::string& test : named_tests) {
      const std::size_t dot = test.find('.');
      const std::string declared =
          "\\(" + test.substr(0, dot) + ",\\s*" + test.substr(dot + 1) + "\\) \\{";
      EXPECT_TRUE(std::regex_search(tests, std::regex("TEST(_F|_P)?" + declared))) << test;
    }
  }
}

}  // namespace
}  // namespace curnm
