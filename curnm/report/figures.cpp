#include "curnm/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "curnm/report/charts.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

// As many as a small chart can show; a run of thousands of epochs must not swell the page.
constexpr std::size_t kLargestCurve = 80;

// The same colour for the same miner in all charts of a page; variants and others follow.
constexpr std::array<std::string_view, 5> kMinerStyles = {kOurs, "random", "recent", "ens",
                                                          "taser"};
constexpr int kStyles = 8;  // in the page's style

struct Part {
  const char* metric;
  const char* label;
};
constexpr Part kPool[] = {{"mining.pool_random", "random"},
                          {"mining.pool_historical", "historical"},
                          {"mining.pool_hard", "hard"}};
constexpr Part kSelected[] = {{"mining.selected_random", "random"},
                              {"mining.selected_historical", "historical"},
                              {"mining.selected_hard", "hard"}};
// In the order that gives each kind the colour it has in the pools.
constexpr Part kScores[] = {{"mining.score_hard", "hard"},
                            {"mining.score_random", "random"},
                            {"mining.score_historical", "historical"},
                            {"mining.false_negative_share", "false negatives"}};
constexpr Part kLosses[] = {{"losses.positive", "positives"},
                            {"losses.random", "random negatives"},
                            {"losses.selected", "selected negatives"},
                            {"losses.contrastive", "contrastive"}};

using Figure = std::function<double(const EpochMetrics&)>;

Figure metric(const char* name) {
  return [name](const EpochMetrics& epoch) {
    const auto found = epoch.metrics.find(name);
    return found != epoch.metrics.end() && found->is_number() ? found->get<double>() : kNoValue;
  };
}

double validation_ap(const EpochMetrics& epoch) { return epoch.validation_ap; }

std::vector<Point> thinned(const std::vector<Point>& points) {
  const std::size_t step = (points.size() + kLargestCurve - 1) / kLargestCurve;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); i += step) kept.push_back(points[i]);
  if (!points.empty() && (points.size() - 1) % step != 0) kept.push_back(points.back());
  return kept;
}

/// Mean and deviation over the runs that have got to an epoch.
std::vector<Point> mean_curve(const Runs& runs, const Figure& figure) {
  std::map<std::int64_t, std::vector<double>> by_epoch;
  for (const RunResult* run : runs) {
    for (const EpochMetrics& epoch : run->curve) {
      const double value = figure(epoch);
      if (std::isfinite(value)) by_epoch[epoch.epoch].push_back(value);
    }
  }
  std::vector<Point> points;
  for (const auto& [epoch, values] : by_epoch) {
    const Summary summary = summarize(values);
    points.push_back(
        {static_cast<double>(epoch), summary.mean, std::isfinite(summary.std) ? summary.std : 0});
  }
  return thinned(points);
}

int method_style(const std::string& name, std::size_t index) {
  const auto known = std::find(kMinerStyles.begin(), kMinerStyles.end(), name);
  return known != kMinerStyles.end() ? static_cast<int>(known - kMinerStyles.begin())
                                     : static_cast<int>(index % kStyles);
}

Range epochs_of(const std::vector<Curve>& curves) {
  Range range{.low = 0, .high = 0};
  for (const Curve& curve : curves) {
    if (!curve.points.empty()) range.high = std::max(range.high, curve.points.back().x);
  }
  return range;
}

template <std::size_t size>
std::vector<Curve> curves_of(const Part (&parts)[size], const Runs& runs) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < size; ++i) {
    Curve curve{parts[i].label, static_cast<int>(i), mean_curve(runs, metric(parts[i].metric))};
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

/// On one scale: alpha is a weight of thousandths, so it is shown as a share of its largest value.
std::vector<Curve> curriculum_curves(const Runs& runs) {
  constexpr int kAlpha = 2;
  constexpr Part kCurriculum[] = {
      {"mining.pi", "π"}, {"mining.delta", "δ"}, {"mining.alpha", "α"}, {"mining.beta", "β"}};
  std::vector<Curve> curves = curves_of(kCurriculum, runs);
  for (Curve& curve : curves) {
    if (curve.style != kAlpha) continue;
    double largest = 0;
    for (const Point& point : curve.points) largest = std::max(largest, point.y);
    if (largest == 0) continue;
    curve.label += fmt::format(" / {:.3g}", largest);
    for (Point& point : curve.points) {
      point.y /= largest;
      point.spread /= largest;
    }
  }
  return curves;
}

std::string panel(std::string_view heading, const std::string& key, const std::string& chart) {
  return fmt::format(R"(<p class="panel">{}</p>{}{})", html_escape(heading), key, chart);
}

std::string line_panel(std::string_view heading, std::string_view subject,
                       const std::vector<Curve>& curves, Range epochs,
                       std::optional<Range> y = std::nullopt) {
  if (curves.empty()) return "";
  return panel(heading, line_key(curves),
               line_chart({fmt::format("{}: {}", subject, heading), curves, epochs, y}));
}

bool have_same_epochs(const std::vector<Curve>& curves) {
  return std::all_of(curves.begin(), curves.end(), [&](const Curve& curve) {
    return std::equal(curve.points.begin(), curve.points.end(), curves.front().points.begin(),
                      curves.front().points.end(),
                      [](const Point& a, const Point& b) { return a.x == b.x; });
  });
}

template <std::size_t size>
std::string share_panel(std::string_view heading, std::string_view subject,
                        const Part (&parts)[size], const Runs& runs, Range epochs) {
  const std::vector<Curve> curves = curves_of(parts, runs);
  if (curves.size() != size || !have_same_epochs(curves)) return "";
  return panel(heading, area_key(curves),
               area_chart({fmt::format("{}: {}", subject, heading), curves, epochs, Range{0, 1}}));
}

std::string figure(std::string_view subject, const std::string& body, std::string_view caption) {
  if (body.empty()) return "";
  return fmt::format("<figure><h4>{}</h4>{}<figcaption>{}</figcaption></figure>\n",
                     html_escape(subject), body, html_escape(caption));
}

}  // namespace

std::string learning_figure(std::string_view subject, const std::vector<Method>& methods) {
  std::vector<Curve> curves;
  std::size_t seeds = 0;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    Curve curve{methods[i].name, method_style(methods[i].name, i),
                mean_curve(methods[i].runs, validation_ap)};
    if (curve.points.empty()) continue;
    seeds = std::max(seeds, methods[i].runs.size());
    curves.push_back(std::move(curve));
  }
  if (curves.empty()) return "";
  const Range epochs = epochs_of(curves);
  std::string body = line_panel("validation AP", subject, curves, epochs);
  std::string caption = "AP on the validation events after each epoch";
  caption +=
      seeds > 1 ? ", mean of the seeds that got there; bands: ± one standard deviation." : ".";
  const auto ours = std::find_if(methods.begin(), methods.end(),
                                 [](const Method& method) { return method.name == kOurs; });
  if (ours != methods.end()) {
    const std::string curriculum = line_panel(fmt::format("curriculum of {}", kOurs), subject,
                                              curriculum_curves(ours->runs), epochs, Range{0, 1});
    const std::string pools =
        share_panel(fmt::format("pools of {}", kOurs), subject, kPool, ours->runs, epochs);
    if (!curriculum.empty()) {
      caption +=
          " Curriculum: π is the share of the pool that is selected, δ the weight of random "
          "negatives, α that of the deviation among hard ones (as a share of its largest value), "
          "β that of relevant factors.";
    }
    if (!pools.empty()) caption += " Pools: where the candidates came from.";
    body += curriculum + pools;
  }
  return figure(subject, body, caption);
}

std::string mining_figure(const RunResult& run) {
  const std::string_view subject = "losses and candidates";
  const Runs runs = {&run};
  const Range epochs = epochs_of({{"", 0, mean_curve(runs, validation_ap)}});
  std::string body = line_panel("loss parts", subject, curves_of(kLosses, runs), epochs);
  std::string caption = "Means over each epoch. Loss: each part before its weight.";
  const std::string scores =
      line_panel("scores of candidates", subject, curves_of(kScores, runs), epochs, Range{0, 1});
  const std::string selected = share_panel("selected negatives", subject, kSelected, runs, epochs);
  if (!scores.empty()) {
    caption +=
        " Scores: the probability that the model gives to candidates of each kind, and the share "
        "of selected ones that are positives within the next batch.";
  }
  if (!selected.empty()) caption += " Selected: where the negatives trained on came from.";
  return figure(subject, body + scores + selected, caption);
}

std::string variant_figure(const VariantTable::Group& group, const Measure& measure) {
  const std::string subject = fmt::format("{} · {} · {}", group.network, group.model, group.miner);
  std::vector<Bar> bars;
  for (std::size_t i = 1; i < group.rows.size(); ++i) {
    const VariantRow& row = group.rows[i];
    bars.push_back({.label = row.name,
                    .value = row.percent.mean,
                    .spread = std::isfinite(row.percent.std) ? row.percent.std : 0,
                    .mark = mark_of(row.to_first)});
  }
  if (bars.empty()) return "";
  return figure(
      subject, bar_chart(subject + ": difference to the first variant", bars),
      fmt::format("{}: difference to “{}” in percent, mean over the seeds; whiskers: ± one "
                  "standard deviation; ▲ ▼: significant, see the table.",
                  measure_text(measure), group.rows.front().name));
}

}  // namespace curnm
