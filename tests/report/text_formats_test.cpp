#include <gtest/gtest.h>

#include <algorithm>

#include "curnm/report/report.h"
#include "curnm/report/text.h"
#include "support/results.h"

// Markdown, LaTeX and CSV, and how numbers look in all of them.

namespace curnm {
namespace {

using testing::add_cell;
using testing::failed_run;
using testing::scored_run;

ResultSet two_miners() {
  ResultSet results;
  for (const auto& [seed, random, ours] : {std::tuple(0, .80, .85), std::tuple(1, .82, .86),
                                           std::tuple(2, .81, .88), std::tuple(3, .81, .87)}) {
    add_cell(results, "main", "", scored_run("uci", "tgn", "random", seed, random));
    add_cell(results, "main", "", scored_run("uci", "tgn", "curnm", seed, ours));
  }
  add_cell(results, "main", "", failed_run("uci", "tgn", "ens", 0, "out of memory"));
  return results;
}

TEST(NumbersTest, AreDashesWhereThereIsNone) {
  EXPECT_EQ(decimal(kNoValue, 3), "–");
  EXPECT_EQ(signed_decimal(kNoValue, 3), "–");
  EXPECT_EQ(mean_and_deviation({}, 3), "0.000 ± 0.000");
  EXPECT_EQ(mean_and_deviation({0, kNoValue, kNoValue}, 3), "–");
  EXPECT_EQ(mean_and_deviation({1, .5, kNoValue}, 3), "0.500");
  EXPECT_EQ(seconds_text(kNoValue), "–");
  EXPECT_EQ(p_text(std::nullopt), "–");
}

TEST(NumbersTest, LiteralValues) {
  EXPECT_EQ(signed_decimal(1.256, 2), "+1.26");
  EXPECT_EQ(signed_decimal(-1.256, 2), "−1.26");
  EXPECT_EQ(signed_decimal(-0.001, 2), "0.00");
  EXPECT_EQ(seconds_text(7.714), "7.71");
  EXPECT_EQ(seconds_text(9.999), "10.0");
  EXPECT_EQ(seconds_text(1156.6), "1157");
  EXPECT_EQ(p_text(.0004), "< 0.001");
  EXPECT_EQ(p_text(.0123), "0.012");
  EXPECT_EQ(count_text(1, "run") + ", " + count_text(2, "run"), "1 run, 2 runs");
}

TEST(MarkdownReportTest, LiteralTable) {
  const std::string text = markdown_report(two_miners(), {.title = "Mine"});
  EXPECT_TRUE(text.starts_with("# Mine\n\n## main\n"));
  EXPECT_NE(text.find("| network | random | ens | curnm | AvgImp % |\n"
                      "| --- | ---: | ---: | ---: | ---: |\n"
                      "| uci (tgn) | 0.810 ± 0.008 ▼ (paper 0.824) | failed (paper 0.849) | "
                      "**0.865 ± 0.013** (paper 0.847) | +6.79 (paper +1.28) |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| uci (tgn ens) | 0 | failed | out of memory |"), std::string::npos);
}

TEST(MarkdownReportTest, BeginsWithTheAnswers) {
  EXPECT_NE(
      markdown_report(two_miners(), {})
          .find("\n## main\n\n- **AP, trans:** curnm is best with 0.865, significantly ahead of "
                "random (0.810, p = 0.003).\n"),
      std::string::npos)
      << markdown_report(two_miners(), {});
}

TEST(MarkdownReportTest, UnfinishedRunsAreToldApartByTheirVariant) {
  ResultSet results;
  add_cell(results, "main", "complete", scored_run("uci", "tgn", "curnm", 0, .9));
  add_cell(results, "main", "no hard cache", failed_run("uci", "tgn", "curnm", 0, "killed"));
  const std::string text = markdown_report(results, {});
  EXPECT_NE(text.find("| uci (tgn curnm (no hard cache)) | 0 | failed | killed |"),
            std::string::npos)
      << text;
}

TEST(MarkdownReportTest, NamesDoNotBecomeMarkup) {
  ResultSet results = two_miners();
  for (RunResult& run : results.runs) run.network = "a|b_c*<b>&\n[x](y)";
  const std::string text = markdown_report(results, {});
  EXPECT_NE(text.find("| a\\|b\\_c\\*&lt;b>&amp; \\[x\\](y) (tgn) |"), std::string::npos) << text;
}

TEST(LatexReportTest, LiteralTable) {
  const std::string text = latex_report(two_miners(), {});
  EXPECT_NE(text.find("\\begin{tabular}{lrrrr}\n\\toprule\n"
                      "network & random & ens & curnm & AvgImp \\% \\\\\n\\midrule\n"
                      "uci {\\tiny tgn} & \\cellcolor{blue!10}0.810 $\\pm$ 0.008~$\\downarrow$ "
                      "{\\tiny paper 0.824} & failed {\\tiny paper 0.849} & "
                      "\\textbf{0.865 $\\pm$ 0.013} {\\tiny paper 0.847} & "
                      "+6.79 {\\tiny paper +1.28} \\\\\n\\bottomrule"),
            std::string::npos)
      << text;
}

TEST(LatexReportTest, EscapesSpecialCharacters) {
  ResultSet results = two_miners();
  for (RunResult& run : results.runs) run.network = "\\a{b}_$&#%^~<";
  const std::string text = latex_report(results, {});
  EXPECT_NE(text.find("\\textbackslash{}a\\{b\\}\\_\\$\\&\\#\\%\\textasciicircum{}"
                      "\\textasciitilde{}$<$ {\\tiny tgn}"),
            std::string::npos)
      << text;
}

TEST(LatexReportTest, ATitleStaysInItsComment) {
  const std::string text = latex_report({}, {.title = "one\ntwo"});
  EXPECT_TRUE(text.starts_with("% one two\n"));
}

TEST(TextReportsTest, BracesAndEnvironmentsAreBalanced) {
  const std::string text = latex_report(testing::full_grid({"uci"}, {"tgn"}, 3, 5), {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), std::count(text.begin(), text.end(), '}'));
  EXPECT_EQ(std::count(text.begin(), text.end(), '$') % 2, 0);
}

TEST(TextReportsTest, PrintNoNaNAndRepeatThemselves) {
  ResultSet results = testing::full_grid({"uci", "mine"}, {"tgn"}, 2, 5);
  testing::add_variants(results, "ablation", "uci", {{"complete", .9}, {"a", .8}}, 1);
  results.runs[0].scores[0].value = kNoValue;
  for (const auto& report : {markdown_report, latex_report}) {
    const std::string text = report(results, {});
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text, report(results, {}));
  }
  EXPECT_EQ(csv_report(results).find("nan"), std::string::npos);
  EXPECT_EQ(csv_report(results), csv_report(results));
}

TEST(TextReportsTest, SingleRunsAndNothing) {
  const ResultSet single{.runs = {testing::full_run("uci", "tgn", "curnm", 0, .9, 5)}};
  EXPECT_NE(markdown_report(single, {})
                .find("| score | all nodes | rule, all nodes | AUC, all nodes | new nodes | rule, "
                      "new nodes "
                      "| AUC, new nodes |"),
            std::string::npos);
  EXPECT_NE(markdown_report(single, {})
                .find("| AP, trans | 0.900 | 0.800 (recency-src-dst) | 0.890 | 0.860 | 0.800 "
                      "(recency-src-dst) | 0.850 |"),
            std::string::npos);
  EXPECT_NE(latex_report(single, {}).find("AP, trans & 0.900 & 0.800 {\\tiny recency-src-dst}"),
            std::string::npos);
  EXPECT_NE(markdown_report({}, {}).find("no results yet"), std::string::npos);
  EXPECT_NE(latex_report({}, {}).find("no results yet"), std::string::npos);
}

TEST(TextReportsTest, RankingsAreBesideTheBestRulesAndSayAmongHowMany) {
  RunResult run = testing::full_run("uci", "tgn", "curnm", 0, .9, 5);
  run.options["train"]["select-on"] = "mrr";
  run.scores.insert(run.scores.end(), {{"test", "mrr", "mrr", .5},
                                       {"test", "mrr", "hits10", .75},
                                       {"test", "mrr", "candidates", 20}});
  run.baselines.push_back({"test", "mrr", "ages", .625});
  const std::string single = markdown_report({.runs = {run}}, {});
  EXPECT_NE(single.find("| MRR (among 20) | 0.500 † | 0.625 (ages) | – | – | – | – |"),
            std::string::npos)
      << single;
  EXPECT_NE(single.find("| Hits@10 (among 20) | 0.750 | – | – | – | – | – |"), std::string::npos);
  EXPECT_NE(latex_report({.runs = {run}}, {}).find("& 0.500~$\\dagger$ & 0.625"),
            std::string::npos);

  ResultSet results;
  add_cell(results, "main", "", run);
  run.miner = "random";
  add_cell(results, "main", "", run);
  const std::string grid = markdown_report(results, {});
  EXPECT_NE(grid.find("### MRR of true destinations among others, all test events"),
            std::string::npos);
  EXPECT_NE(grid.find("| uci (tgn, among 20) | **0.500** † | **0.500** † | 0.00 | 0.625 (ages) |"),
            std::string::npos)
      << grid;
  EXPECT_NE(grid.find("### Hits@10 of true"), std::string::npos);
  EXPECT_NE(latex_report(results, {}).find("uci {\\tiny tgn} {\\tiny among 20}"),
            std::string::npos);
  const std::string csv = csv_report(results);
  EXPECT_NE(csv.find("test,mrr,candidates,20\r\n"), std::string::npos);
  EXPECT_NE(csv.find("test,mrr,best_rule_mrr,0.625\r\n"), std::string::npos);
  EXPECT_NE(csv.find("test,trans,best_rule_ap,0.8\r\n"), std::string::npos);

  for (std::size_t i = 0; i < results.runs.size(); ++i) {
    results.cells[i].variant = i == 0 ? "first" : "second";
    results.runs[i].miner = "curnm";
    for (EpochMetrics& epoch : results.runs[i].curve) epoch.validation_mrr = .25;
  }
  const std::string variants = markdown_report(results, {});
  EXPECT_NE(variants.find("| network | variant | validation MRR | test MRR |"), std::string::npos)
      << variants;
  EXPECT_NE(variants.find("| uci (tgn curnm, among 20) | second | 0.250 | 0.500 † |"),
            std::string::npos);
}

TEST(CsvReportTest, LiteralRows) {
  ResultSet results;
  RunResult run = scored_run("a,b", "say \"tgn\"", "two\nlines", 3, .25);
  run.flags = {{"epochs", "60"}};
  add_cell(results, "main", "", run);
  results.runs.push_back(failed_run("uci", "tgn", "ens", 0, "no, really"));
  EXPECT_EQ(csv_report(results),
            "run,experiment,variant,network,model,miner,seed,state,reason,flags,set,protocol,"
            "metric,value\r\n"
            "1,main,,\"a,b\",\"say \"\"tgn\"\"\",\"two\nlines\",3,done,,"
            "\"{\"\"epochs\"\":\"\"60\"\"}\",test,trans,ap,0.25\r\n"
            "0,,,uci,tgn,ens,0,failed,\"no, really\",{},,,,\r\n");
}

TEST(CsvReportTest, NothingIsAHeader) {
  const std::string text = csv_report({});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

/// Names that a spreadsheet or LaTeX would take for something else.
ResultSet tricky_names() {
  ResultSet results;
  for (const char* network : {"=1+2", "[1cm]", "*", "+x", "-pi", "@sum"}) {
    for (const char* miner : {"random", "curnm"}) {
      add_cell(results, "main", "=cmd", scored_run(network, "tgn", miner, 0, .8));
    }
  }
  return results;
}

TEST(CsvTest, NothingIsAFormula) {
  const std::string csv = csv_report(tricky_names());
  EXPECT_NE(csv.find(",'=cmd,'=1+2,"), std::string::npos) << csv;
  for (const char* formula : {",=", ",+", ",-", ",@"}) {
    EXPECT_EQ(csv.find(formula), std::string::npos) << formula;
  }
}

TEST(LatexTest, RowsDoNotBeginWithArguments) {
  const std::string latex = latex_report(tricky_names(), {.title = "x"});
  EXPECT_NE(latex.find("\n{}[1cm]"), std::string::npos) << latex;
  EXPECT_NE(latex.find("\n{}*"), std::string::npos);
  EXPECT_EQ(latex.find("\n["), std::string::npos);
  EXPECT_EQ(latex.find("\n*"), std::string::npos);
}

}  // namespace
}  // namespace curnm
