#include "curnm/report/backtest_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "curnm/base/error.h"
#include "curnm/base/json.h"
#include "curnm/report/charts.h"
#include "curnm/report/page.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

using nlohmann::ordered_json;

constexpr const char* kMrr = "mrr";

/// "AP, trans" or "MRR".
std::string figure_text(const std::string& figure) {
  return figure == kMrr ? "MRR" : "AP, " + figure;
}

double number_or_nan(const ordered_json& value) {
  return value.is_number() ? value.get<double>() : kNoValue;
}

/// The figure in a period; NaN where it has none.
double of_model(const ordered_json& period, const std::string& figure) {
  const ordered_json& test = period.at("test");
  if (!test.contains(figure)) return kNoValue;
  return number_or_nan(test.at(figure).at(figure == kMrr ? kMrr : "ap"));
}
double of_rule(const ordered_json& period, const std::string& figure) {
  const ordered_json& rules = period.at("rules");
  return rules.contains(figure) ? number_or_nan(rules.at(figure)) : kNoValue;
}

/// What was measured, in the order of the result.
std::vector<std::string> figures_in(const ordered_json& result) {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : result.at("all").at("test").items()) names.push_back(name);
  return names;
}

/// "week", "day" or "period".
std::string unit_of(const ordered_json& result) {
  const auto by = json_string(result, "periods_by");
  return by == "week" || by == "day" ? by : "period";
}

template <class Value>
Curve curve_of(std::string label, int style, const ordered_json& periods, const Value& value) {
  Curve curve{.label = std::move(label), .style = style, .points = {}};
  double number = 0;
  for (const ordered_json& period : periods) curve.points.push_back({++number, value(period)});
  return curve;
}

std::string chart_figure(const ordered_json& result, const std::string& title,
                         std::string_view caption, std::vector<Curve> curves) {
  const EpochChart chart{.title = title + " by " + unit_of(result),
                         .curves = std::move(curves),
                         .epochs = {1, static_cast<double>(result.at("periods").size())},
                         .x_title = unit_of(result)};
  return figure(title, caption, line_key(chart) + line_chart(chart));
}

std::string charts_of(const ordered_json& result) {
  const ordered_json& periods = result.at("periods");
  std::string out;
  for (const std::string& name : figures_in(result)) {
    out += chart_figure(
        result, figure_text(name), "Of each period, beside the best rule without learning.",
        {curve_of(json_string(result, "model"), 0, periods,
                  [&](const ordered_json& period) { return of_model(period, name); }),
         curve_of(json_string(result.at("rules"), name), 1, periods,
                  [&](const ordered_json& period) { return of_rule(period, name); })});
  }
  const auto count = [](const char* key) {
    return [key](const ordered_json& period) { return number_or_nan(period.at(key)); };
  };
  return out + chart_figure(result, "Events", "How many each period has.",
                            {curve_of("all", 0, periods, count("events")),
                             curve_of("with nodes that are new since the training", 1, periods,
                                      count("new_node_events"))});
}

SheetCell cell_of(double model, double rule) {
  SheetCell cell{.text = decimal(model, 4), .key = model};
  if (std::isnan(model)) return cell;
  cell.asides = {decimal(rule, 4)};
  cell.below_rule = model < rule;
  return cell;
}

std::vector<SheetCell> row_of(std::string name, std::string from, const ordered_json& events) {
  return {{.text = std::move(name)},
          {.text = std::move(from)},
          {.text = decimal(events.get<double>(), 0), .key = events.get<double>()}};
}

Sheet sheet_of(const ordered_json& result) {
  const std::vector<std::string> figures = figures_in(result);
  Sheet sheet{
      .title = "Scores by " + unit_of(result),
      .caption = "In small print: the best rule without learning, the same in all periods." +
                 below_rule_text(),
      .header = {capitalised(unit_of(result)), "From", "Events"}};
  for (const std::string& figure : figures) sheet.header.push_back(figure_text(figure));
  for (const ordered_json& period : result.at("periods")) {
    sheet.rows.push_back(row_of(std::to_string(sheet.rows.size() + 1),
                                fmt::format("{}", json_number(period, "from")),
                                period.at("events")));
    for (const std::string& figure : figures) {
      sheet.rows.back().push_back(cell_of(of_model(period, figure), of_rule(period, figure)));
    }
  }
  const ordered_json& all = result.at("all");
  sheet.footer.push_back(row_of("all", "", all.at("events")));
  for (const std::string& figure : figures) {
    sheet.footer.back().push_back(cell_of(number_or_nan(all.at("test").at(figure)),
                                          number_or_nan(all.at("rules").at(figure))));
  }
  return sheet;
}

/// A sentence for each figure.
std::vector<std::string> findings_of(const ordered_json& result) {
  std::vector<std::string> findings;
  for (const std::string& figure : figures_in(result)) {
    const ordered_json& all = result.at("all");
    const ordered_json& change = result.at("change").at(figure);
    std::string text = fmt::format("{}: {} over all periods, and {} by {}", figure_text(figure),
                                   decimal(number_or_nan(all.at("test").at(figure)), 3),
                                   decimal(number_or_nan(all.at("rules").at(figure)), 3),
                                   json_string(result.at("rules"), figure));
    if (change.at("model").is_number()) {
      append(text, "; from the earlier to the later half {}, and {} by the rule",
             signed_decimal(number_or_nan(change.at("model")), 3),
             signed_decimal(number_or_nan(change.at("rule")), 3));
    }
    findings.push_back(text + ".");
  }
  return findings;
}

}  // namespace

std::string backtest_report(const ordered_json& result, const ReportOptions& options) {
  try {
    const std::string subject =
        fmt::format("{} on {}", json_string(result, "model"), json_string(result, "data"));
    const std::string lead = fmt::format(
        "{} events from {} to {}, by {}, of a model whose training ended at {}.",
        decimal(result.at("all").at("events").get<double>(), 0), json_number(result, "from"),
        json_number(result, "to"), unit_of(result), json_number(result.at("trained"), "until"));
    return page(options.title.empty() ? "Does it age? " + subject : options.title, lead, "",
                {{"summary", "Summary", notes_list(findings_of(result))},
                 {"periods", "By " + unit_of(result), figures(charts_of(result))},
                 {"table", "Table", figure_of(sheet_of(result))}});
  } catch (const nlohmann::json::exception& error) {
    fail("it is no backtest: {}", json_reason(error));
  } catch (const BadJson& error) {
    fail("it is no backtest: {}", error.what());
  }
}

}  // namespace curnm
