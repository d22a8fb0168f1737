#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "curnm/report/report.h"
#include "report/markup.h"
#include "support/results.h"

namespace curnm {
namespace {

using testing::add_cell;
using testing::full_grid;
using testing::full_run;
using testing::tag_fault;

constexpr const char* kHostile = "<script>alert(1)</script> \"quoted\" & 'single'";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

ResultSet grid_with_gaps() {
  ResultSet results = full_grid({"uci", "mine"}, {"tgn", "jodie"}, /*seeds=*/3, /*epochs=*/12);
  results.runs[0] = testing::failed_run("uci", "tgn", "random", 0, "out of memory");
  results.runs[4].scores.clear();
  results.runs[5].curve[3].validation_ap = kNoValue;
  results.runs[6].seconds_per_epoch = kNoValue;
  testing::add_variants(results, "ablation", "uci", {{"complete", .9}, {"without pi", .8}}, 3);
  return results;
}

TEST(TagFaultTest, FindsFaults) {
  EXPECT_EQ(tag_fault("<p>a<b>b</b></p><path d=\"M0 0\"/>"), "");
  EXPECT_NE(tag_fault("<p><b></p></b>"), "");
  EXPECT_NE(tag_fault("<p>"), "");
  EXPECT_NE(tag_fault("</p>"), "");
  EXPECT_NE(tag_fault("<p>1 < 2</p>"), "");
  EXPECT_NE(tag_fault("<p>1 > 2</p>"), "");
  EXPECT_NE(tag_fault("<p"), "");
  EXPECT_NE(tag_fault("<script>1 < 2"), "");
  EXPECT_EQ(tag_fault("<script>1 < 2 > 3</script>"), "");
  EXPECT_NE(tag_fault("<p class=\"a\"b\"></p>"), "");
}

TEST(HtmlReportTest, IsWellFormed) {
  EXPECT_EQ(tag_fault(html_report(grid_with_gaps(), {})), "");
  EXPECT_EQ(tag_fault(html_report({}, {})), "");
  const ResultSet single{.runs = {full_run("uci", "tgn", "curnm", 0, .9, 20)}};
  EXPECT_EQ(tag_fault(html_report(single, {})), "");
}

TEST(HtmlReportTest, EscapesWhatUsersNamed) {
  ResultSet results = full_grid({kHostile}, {kHostile}, 2, 5);
  for (RunResult& run : results.runs) {
    run.version = kHostile;
    run.environment.cpu = kHostile;
    run.options = {{"train", {{kHostile, kHostile}}}};
    for (BaselineScore& baseline : run.baselines) baseline.name = kHostile;
    run.scores.push_back({kHostile, kHostile, "ap", .5});
  }
  results.runs[0].state = RunState::kFailed;
  results.runs[0].reason = kHostile;
  testing::add_variants(results, kHostile, kHostile, {{"complete", .9}, {kHostile, .8}}, 2);
  for (const ResultSet& set : {results, ResultSet{.runs = {results.runs[1]}}}) {
    const std::string page = html_report(set, {.title = kHostile});
    EXPECT_EQ(tag_fault(page), "");
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt; &quot;quoted&quot; &amp; &#39;"),
              std::string::npos);
  }
}

TEST(HtmlReportTest, PrintsNoNaN) {
  ResultSet results = grid_with_gaps();
  for (RunResult& run : results.runs) run.network = "net";  // no other word with these letters
  const std::string page = html_report(results, {});
  const std::string body = page.substr(page.find("<body>"), page.find("<script>"));
  for (const char* word : {"nan", "NaN", "inf,", "inf<", "inf "}) {
    EXPECT_EQ(body.find(word), std::string::npos) << word;
  }
}

TEST(HtmlReportTest, TheSameResultsGiveTheSameBytes) {
  const ResultSet results = grid_with_gaps();
  EXPECT_EQ(html_report(results, {}), html_report(results, {}));
}

TEST(HtmlReportTest, LoadsNothing) {
  const std::string page = html_report(grid_with_gaps(), {});
  for (const char* reference : {"http:", "https:", "url(", "@import", "src=", "<link"}) {
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  }
}

TEST(HtmlReportTest, HasEachTableAndFigure) {
  const std::string page = html_report(grid_with_gaps(), {.title = "Mine"});
  EXPECT_NE(page.find("<h1>Mine</h1>"), std::string::npos);
  EXPECT_NE(page.find("<h2>main</h2>"), std::string::npos);
  EXPECT_NE(page.find("<h2>ablation</h2>"), std::string::npos);
  EXPECT_EQ(count_of(page, "class=\"view set-"), 2U * 2 * 5);  // experiments, sets, questions
  EXPECT_EQ(count_of(page, ">curriculum of curnm<"), 4U);      // networks and models
  EXPECT_EQ(count_of(page, ">pools of curnm<"), 4U);
  EXPECT_NE(page.find("out of memory"), std::string::npos);
  EXPECT_NE(page.find("paired two-sided t-test"), std::string::npos);
  EXPECT_NE(page.find("class=\"whisker\""), std::string::npos);
  EXPECT_NE(page.find("paper 0.824"), std::string::npos);
  EXPECT_NE(page.find("recency-src-dst"), std::string::npos);
}

TEST(HtmlReportTest, AnEmptySetSaysSo) {
  EXPECT_NE(html_report({}, {}).find("no results yet"), std::string::npos);
}

TEST(HtmlReportTest, ASingleRunShowsAllOfIt) {
  const ResultSet single{.runs = {full_run("uci", "tgn", "curnm", 7, .9, 20)}};
  const std::string page = html_report(single, {});
  for (const char* part : {">validation AP<", ">curriculum of curnm<", ">pools of curnm<",
                           ">loss parts<", ">selected negatives<", "recency-src-dst",
                           "AP, source_historical", "events of new nodes"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(HtmlReportTest, ACurriculumByQuestionIsDrawn) {
  const RunResult run = testing::question_run("uci", "light", 0, .9, 20);
  const std::string page = html_report({.runs = {run}}, {});
  EXPECT_EQ(tag_fault(page), "");
  for (const char* part :
       {">validation AP by question<", ">negatives by question<", ">difficulty π by question<",
        ">negatives</li>", "questions: negatives by question"}) {
    EXPECT_EQ(count_of(page, part), 1U) << part;
  }
  const std::string without =
      html_report({.runs = {full_run("uci", "tgn", "curnm", 0, .9, 20)}}, {});
  EXPECT_EQ(without.find("by question"), std::string::npos);
}

TEST(HtmlReportTest, OfSeveralRunsThoseWithACurriculumByQuestionShowIt) {
  ResultSet results = full_grid({"uci", "mine"}, {"light"}, /*seeds=*/2, /*epochs=*/12);
  for (RunResult& run : results.runs) {
    if (run.miner != "curnm" || run.network != "uci") continue;
    run = testing::question_run("uci", "light", run.seed, .9, 12);
  }
  const std::string page = html_report(results, {});
  EXPECT_EQ(tag_fault(page), "");
  EXPECT_EQ(count_of(page, "<h4>uci · light · curnm: questions</h4>"), 1U);
  EXPECT_EQ(count_of(page, ">negatives by question<"), 1U);
}

// A question that the network cannot measure has no AP, but a share of the negatives.
TEST(HtmlReportTest, AQuestionWithoutAPIsLeftOut) {
  RunResult run = testing::question_run("uci", "light", 0, .9, 20);
  const auto without = [&](const char* name) {
    for (EpochMetrics& epoch : run.curve) {
      auto metrics = nlohmann::ordered_json::parse(epoch.metrics);
      metrics.erase(name);
      epoch.metrics = metrics.dump();
    }
    return html_report({.runs = {run}}, {});
  };
  const std::string two = without("validation.source_historical");
  EXPECT_EQ(count_of(two, ">partner</li>"), 2U) << "share and difficulty";
  EXPECT_EQ(count_of(two, ">pair</li>"), 3U);
  EXPECT_NE(two.find(">negatives by question<"), std::string::npos);
  const std::string one = without("validation.trans");
  EXPECT_EQ(one.find(">validation AP by question<"), std::string::npos) << "that of the run";
}

TEST(HtmlReportTest, RunsThatJustBeganMakeAPage) {
  RunResult waiting;
  waiting.network = "uci";
  RunResult first_epoch = full_run("uci", "tgn", "curnm", 0, .9, 1);
  first_epoch.state = RunState::kRunning;
  first_epoch.scores.clear();
  EXPECT_EQ(tag_fault(html_report({.runs = {waiting}}, {})), "");
  EXPECT_EQ(tag_fault(html_report({.runs = {waiting, first_epoch}}, {})), "");
  EXPECT_EQ(tag_fault(html_report({.runs = {first_epoch}}, {})), "");
}

TEST(HtmlReportTest, PoolsThatAreNotKnownInEveryEpochAreNotStacked) {
  ResultSet single{.runs = {full_run("uci", "tgn", "curnm", 0, .9, 20)}};
  for (EpochMetrics& epoch : single.runs[0].curve) {
    auto metrics = nlohmann::ordered_json::parse(epoch.metrics);
    if (epoch.epoch == 4) metrics.erase("mining.pool_hard");
    if (epoch.epoch == 5) metrics["mining.selected_hard"] = "?";
    metrics.erase("mining.delta");
    epoch.metrics = metrics.dump();
  }
  const std::string page = html_report(single, {});
  EXPECT_EQ(page.find("\"panel\">pools of curnm<"), std::string::npos);
  EXPECT_EQ(page.find("\"panel\">selected negatives<"), std::string::npos);
  EXPECT_NE(page.find("α / 0.004<"), std::string::npos);  // scaled, though it comes second now
}

TEST(HtmlReportTest, AThousandRunsStaySmall) {
  std::vector<std::string> networks;
  for (int i = 0; i < 13; ++i) networks.push_back("network " + std::to_string(i));
  ResultSet results = full_grid(networks, {"tgn", "jodie", "dysat"}, 5, 60);
  testing::add_variants(results, "ablation", "uci",
                        {{"complete", .9}, {"a", .8}, {"b", .8}, {"c", .8}, {"d", .8}}, 5);
  ASSERT_EQ(results.runs.size(), 1000U);
  EXPECT_LT(html_report(results, {}).size(), 3'000'000U);
}

// A search is an experiment with a variant for each trial.
TEST(HtmlReportTest, AThousandVariantsStaySmall) {
  ResultSet results;
  for (int i = 0; i < 1000; ++i) {
    const std::string variant = fmt::format(
        "pool {}, gamma-hist 0.{}, tau 0.5, alpha-epochs 8, alpha-max 0.004, beta-epochs {}, "
        "delta-min 0.3",
        2 * i, i % 10, i);
    add_cell(results, "search", variant, full_run("uci", "tgn", "curnm", 0, .8 + 1e-4 * i, 60));
  }
  const std::string page = html_report(results, {});
  EXPECT_LT(page.size(), 3'000'000U);
  EXPECT_NE(page.find("pool 1998, "), std::string::npos);
  EXPECT_NE(page.find("the first and the 199 best by validation AP are listed."),
            std::string::npos);
  EXPECT_NE(page.find("Of 1000 variants, the first and the 11 best by validation AP are drawn."),
            std::string::npos);
}

TEST(HtmlReportTest, CurvesOfAChartCanBeToldApart) {
  ResultSet results;
  for (int i = 0; i < 12; ++i) {
    add_cell(results, "variants", fmt::format("variant {}", i),
             full_run("uci", "tgn", "curnm", 0, .9, 5));
  }
  const std::string page = html_report(results, {});
  const std::size_t key = page.find(R"(<ul class="key">)");
  const std::string list = page.substr(key, page.find("</ul>", key) - key);
  std::set<std::string> samples;
  for (std::size_t at = list.find("<svg"); at != list.npos; at = list.find("<svg", at + 1)) {
    samples.insert(list.substr(at, list.find("</svg>", at) - at));
  }
  EXPECT_EQ(samples.size(), 12U) << list;
}

TEST(HtmlReportTest, LongRunsAreThinnedOut) {
  const ResultSet brief{.runs = {full_run("uci", "tgn", "curnm", 0, .9, 80)}};
  const ResultSet lengthy{.runs = {full_run("uci", "tgn", "curnm", 0, .9, 4000)}};
  EXPECT_LT(html_report(lengthy, {}).size(), html_report(brief, {}).size() * 3 / 2);
}

}  // namespace
}  // namespace curnm
