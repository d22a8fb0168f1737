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
  EXPECT_EQ(count_of(page, ">Curriculum of curnm.<"), 4U);     // networks and models
  EXPECT_EQ(count_of(page, ">Pools of curnm.<"), 4U);
  EXPECT_NE(page.find("out of memory"), std::string::npos);
  EXPECT_NE(page.find("paired two-sided t-test"), std::string::npos);
  EXPECT_NE(page.find("class=\"whisker\""), std::string::npos);
  EXPECT_NE(page.find("paper 0.824"), std::string::npos);
  EXPECT_NE(page.find("recency-src-dst"), std::string::npos);
}

TEST(HtmlReportTest, BeginsWithContentsAndASummary) {
  const std::string page = html_report(grid_with_gaps(), {});
  const std::size_t contents = page.find("<nav aria-label=\"Contents\">");
  const std::size_t summary = page.find("<section id=\"summary\"><h2>Summary</h2>");
  ASSERT_NE(contents, std::string::npos);
  EXPECT_LT(contents, summary);
  EXPECT_LT(summary, page.find("<section id=\"e0\">"));
  EXPECT_NE(page.find("<li><strong>AP, trans:</strong> "), std::string::npos);
  std::size_t links = 0;
  const std::string link = "<a href=\"#";
  for (std::size_t at = page.find(link); at != page.npos; at = page.find(link, at + 1)) {
    const std::size_t name = at + link.size();
    const std::string target = page.substr(name, page.find('"', name) - name);
    EXPECT_EQ(count_of(page, "<section id=\"" + target + "\">"), 1U) << target;
    ++links;
  }
  EXPECT_GT(links, 8U);
}

TEST(HtmlReportTest, WhatIsBelowTheRuleIsMarkedInEveryTable) {
  ResultSet results;
  for (const char* experiment : {"main", "ablation"}) {
    for (const char* miner : {"random", "curnm"}) {
      RunResult run = testing::scored_run("uci", "tgn", miner, 0, *miner == 'r' ? .6 : .8);
      run.baselines = {{"test", "trans", "ages", .7}};
      const bool is_variant = *experiment == 'a';
      if (is_variant) run.miner = "curnm";
      add_cell(results, experiment, is_variant ? miner : "", std::move(run));
    }
  }
  const std::string below =
      "0.600&nbsp;<abbr title=\"below the best rule without learning\">†</abbr>";
  const std::string page = html_report(results, {});
  EXPECT_EQ(count_of(page, below), 3U) << "scores of the miners, best of all models, variants";
  EXPECT_EQ(count_of(page, "<abbr"), 3U) << "nothing else is below";
  EXPECT_EQ(count_of(page, "<small>0.600 †</small>"), 2U) << "next in the tables of who is best";
  EXPECT_EQ(count_of(html_report({.runs = {results.runs[0]}}, {}), below), 1U);
}

TEST(HtmlReportTest, ScoresThatPrintAlikeShareTheBold) {
  ResultSet results;
  add_cell(results, "main", "", testing::scored_run("uci", "tgn", "random", 0, .8004));
  add_cell(results, "main", "", testing::scored_run("uci", "tgn", "ens", 0, .7996));
  add_cell(results, "main", "", testing::scored_run("uci", "tgn", "curnm", 0, .7994));
  const std::string page = html_report(results, {});
  EXPECT_EQ(count_of(page, "<td class=\"best\" data-key="), 2U);
  EXPECT_NE(page.find("<td class=\"own\" data-key=\"0.7994\">0.799"), std::string::npos);
}

TEST(HtmlReportTest, RankingsAreBesideAP) {
  ResultSet results = full_grid({"uci"}, {"tgn"}, /*seeds=*/2, /*epochs=*/3);
  for (RunResult& run : results.runs) testing::add_ranking(run, .5);
  const std::string page = html_report(results, {});
  // Five miners under five protocols, on all events and on those of new nodes.
  EXPECT_EQ(count_of(page, "<small>MRR 0.500</small>"), 25U);
  EXPECT_EQ(count_of(page, "<small>MRR 0.450</small>"), 25U);
}

// A pool that never has hard negatives has no area for them, so the key does not name them.
TEST(HtmlReportTest, KeysNameOnlyWhatIsDrawn) {
  ResultSet single{.runs = {full_run("uci", "tgn", "curnm", 0, .9, 5)}};
  const std::string page = html_report(single, {});
  const std::size_t pools = page.find(">Pools of curnm.<");
  EXPECT_EQ(page.substr(pools, page.find("</ul>", pools) - pools).find("hard"), std::string::npos);
  for (EpochMetrics& epoch : single.runs[0].curve) {
    auto metrics = nlohmann::ordered_json::parse(epoch.metrics);
    metrics.erase("mining.delta");
    metrics.erase("mining.false_negative_share");
    epoch.metrics = metrics.dump();
  }
  EXPECT_NE(page.find("δ: the weight"), std::string::npos);
  EXPECT_NE(page.find("false negatives: the share"), std::string::npos);
  const std::string without = html_report(single, {});
  EXPECT_EQ(without.find("δ"), std::string::npos);
  EXPECT_EQ(without.find("false negatives"), std::string::npos);
}

TEST(HtmlReportTest, AnEmptySetSaysSo) {
  EXPECT_NE(html_report({}, {}).find("no results yet"), std::string::npos);
}

TEST(HtmlReportTest, ASingleRunShowsAllOfIt) {
  const ResultSet single{.runs = {full_run("uci", "tgn", "curnm", 7, .9, 20)}};
  const std::string page = html_report(single, {});
  for (const char* part :
       {">Validation AP.<", ">Curriculum of curnm.<", ">Pools of curnm.<", ">Loss parts.<",
        ">Selected negatives.<", "recency-src-dst", "AP, source_<wbr>historical", "all nodes",
        "AUC, new nodes", "<h1>uci: tgn with curnm, seed 7</h1>",
        "Done after 20 epochs, of which epoch 13 is the best."}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(count_of(page, "best epoch, 13</li>"), count_of(page, "<svg class=\"chart\""))
      << "every chart says which line is the best epoch";
  EXPECT_EQ(count_of(page, "<figure"), count_of(page, "<figcaption"));
}

TEST(HtmlReportTest, ACurriculumByQuestionIsDrawn) {
  const RunResult run = testing::question_run("uci", "light", 0, .9, 20);
  const std::string page = html_report({.runs = {run}}, {});
  EXPECT_EQ(tag_fault(page), "");
  for (const char* part :
       {">Validation AP by question.<", ">Negatives by question.<", ">Difficulty π by question.<",
        ">negatives</li>", "uci · light, seed 0: Negatives by question"}) {
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
  EXPECT_EQ(count_of(page, ">Negatives by question.<"), 1U);
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
  const std::string three = without("validation.source_historical");
  EXPECT_EQ(count_of(three, ">partner</li>"), 2U) << "share and difficulty";
  EXPECT_EQ(count_of(three, ">pair</li>"), 3U);
  EXPECT_EQ(count_of(three, ">new pair</li>"), 3U);
  EXPECT_NE(three.find(">Negatives by question.<"), std::string::npos);
  without("validation.inductive");
  const std::string one = without("validation.trans");
  EXPECT_EQ(one.find(">Validation AP by question.<"), std::string::npos) << "that of the run";
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
  EXPECT_EQ(page.find(">Pools of curnm.<"), std::string::npos);
  EXPECT_EQ(page.find(">Selected negatives.<"), std::string::npos);
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
