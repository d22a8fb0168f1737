#include "curnm/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "curnm/base/error.h"
#include "curnm/report/charts.h"
#include "curnm/report/page.h"
#include "curnm/report/text.h"

namespace curnm {
namespace {

// As many points as a small chart can show; thousands of epochs must not inflate the page.
constexpr std::size_t kLargestCurve = 80;

// As many curves and bars as a reader can distinguish.
constexpr std::size_t kMostCurves = 12;
constexpr std::size_t kMostBars = 24;

// The same colour for the same miner in all charts of a page; others follow.
constexpr std::array<std::string_view, 5> kMinerStyles = {kOurs, "random", "recent", "ens",
                                                          "taser"};

struct Part {
  const char* metric;
  const char* label;
  const char* meaning = "";  // where the label does not say it
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
                            {"mining.false_negative_share", "false negatives",
                             "the share of selected ones that are positives within the next "
                             "batch"}};
constexpr Part kCurriculum[] = {
    {"mining.pi", "π", "the share of the pool that is selected"},
    {"mining.delta", "δ", "the weight of random negatives"},
    {"mining.alpha", "α",
     "the weight of the deviation among hard ones, as a share of its largest value"},
    {"mining.beta", "β", "the weight of relevant factors"}};
constexpr Part kLosses[] = {{"losses.positive", "positives"},
                            {"losses.random", "random negatives"},
                            {"losses.selected", "selected negatives"},
                            {"losses.contrastive", "contrastive"},
                            {"losses.negative", "negatives"}};
// Likewise: each question has one colour in lines and areas.
constexpr Part kQuestionAps[] = {{"validation.trans", "pair"},
                                 {"validation.random", "destination"},
                                 {"validation.source_historical", "partner"},
                                 {"validation.inductive", "new pair"}};
constexpr Part kQuestionPis[] = {{"mining.pi_pair", "pair"},
                                 {"mining.pi_destination", "destination"},
                                 {"mining.pi_partner", "partner"},
                                 {"mining.pi_new_pair", "new pair"}};
constexpr Part kQuestionShares[] = {{"mining.share_destination", "destination"},
                                    {"mining.share_partner", "partner"},
                                    {"mining.share_pair", "pair"},
                                    {"mining.share_new_pair", "new pair"}};

/// Visits the epochs of runs that are drawn: all of a short training, every n-th of a long one, and
/// the last.
template <class Visit>
void for_each_drawn(const Runs& runs, const Visit& visit) {
  std::int64_t last = 0;
  for (const RunResult* run : runs) {
    if (!run->curve.empty()) last = std::max(last, run->curve.back().epoch);
  }
  const std::int64_t step = last / kLargestCurve + 1;
  for (const RunResult* run : runs) {
    for (const EpochMetrics& epoch : run->curve) {
      if (epoch.epoch % step == 0 || epoch.epoch == last) visit(*run, epoch);
    }
  }
}

/// Values of one figure, by epoch.
using Samples = std::map<std::int64_t, std::vector<double>>;

/// Mean and deviation over the runs that reached an epoch.
std::vector<Point> mean_curve(const Samples& samples) {
  std::vector<Point> points;
  for (const auto& [epoch, values] : samples) {
    const Summary summary = summarize(values);
    points.push_back(
        {static_cast<double>(epoch), summary.mean, std::isfinite(summary.std) ? summary.std : 0});
  }
  return points;
}

std::vector<Point> validation_curve(const Runs& runs, ValidationFigure figure) {
  Samples samples;
  for_each_drawn(runs, [&](const RunResult&, const EpochMetrics& epoch) {
    const double value = value_of(epoch, figure);
    if (std::isfinite(value)) samples[epoch.epoch].push_back(value);
  });
  return mean_curve(samples);
}

nlohmann::json metrics_of(const RunResult& run, const EpochMetrics& epoch) {
  nlohmann::json metrics =
      nlohmann::json::parse(epoch.metrics, nullptr, /*allow_exceptions=*/false);
  if (!metrics.is_object()) {
    fail("the metrics of epoch {} of {} are damaged", epoch.epoch, run.folder);
  }
  return metrics;
}

double number_in(const nlohmann::json& metrics, const char* name) {
  const auto found = metrics.find(name);
  return found != metrics.end() && found->is_number() ? found->get<double>() : kNoValue;
}

/// The style of each method: known miners have fixed ones; other methods get the styles after
/// those, if any known miner is shown.
std::vector<int> styles_of(const std::vector<NamedRuns>& methods) {
  std::vector<int> styles;
  int others = 0;
  const auto known = [](const NamedRuns& method) {
    return std::find(kMinerStyles.begin(), kMinerStyles.end(), method.name);
  };
  if (std::any_of(methods.begin(), methods.end(),
                  [&](const NamedRuns& method) { return known(method) != kMinerStyles.end(); })) {
    others = kMinerStyles.size();
  }
  for (const NamedRuns& method : methods) {
    const auto found = known(method);
    styles.push_back(found != kMinerStyles.end() ? static_cast<int>(found - kMinerStyles.begin())
                                                 : others++);
  }
  return styles;
}

/// For each run that has completed an epoch.
std::vector<double> best_validations(const NamedRuns& method, ValidationFigure figure) {
  std::vector<double> best;
  for (const RunResult* run : method.runs) {
    best.push_back(best_validation(*run, std::ssize(run->curve), figure));
  }
  std::erase_if(best, [](double value) { return std::isnan(value); });
  return best;
}

/// Removes methods that have nothing to draw.
std::vector<NamedRuns> methods_with_epochs(std::vector<NamedRuns> methods,
                                           ValidationFigure figure) {
  std::erase_if(methods,
                [&](const NamedRuns& method) { return best_validations(method, figure).empty(); });
  return methods;
}

std::vector<NamedRuns> first_and_best(const std::vector<NamedRuns>& methods,
                                      ValidationFigure figure) {
  std::vector<double> validation;
  for (const NamedRuns& method : methods) {
    validation.push_back(summarize(best_validations(method, figure)).mean);
  }
  std::vector<NamedRuns> shown;
  for (std::size_t i : curnm::first_and_best(validation, kMostCurves)) shown.push_back(methods[i]);
  return shown;
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
  std::array<Samples, size> samples;
  for_each_drawn(runs, [&](const RunResult& run, const EpochMetrics& epoch) {
    const nlohmann::json metrics = metrics_of(run, epoch);
    for (std::size_t i = 0; i < size; ++i) {
      const double value = number_in(metrics, parts[i].metric);
      if (std::isfinite(value)) samples[i][epoch.epoch].push_back(value);
    }
  });
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < size; ++i) {
    if (samples[i].empty()) continue;
    curves.push_back({parts[i].label, static_cast<int>(i), mean_curve(samples[i])});
  }
  return curves;
}

/// All on one scale: alpha is only a few thousandths, so it is shown as a share of its largest
/// value.
std::vector<Curve> curriculum_curves(const Runs& runs) {
  constexpr int kAlpha = 2;  // in kCurriculum
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

/// "π: the share …; δ: ….", of the curves that are there.
template <std::size_t size>
std::string meanings(const Part (&parts)[size], const std::vector<Curve>& curves) {
  std::string text;
  for (const Curve& curve : curves) {
    const Part& part = parts[curve.style];
    if (*part.meaning == '\0') continue;
    append(text, "{}{}: {}", text.empty() ? "" : "; ", part.label, part.meaning);
  }
  return text.empty() ? text : text + ".";
}

/// What the charts of one training share, so that they line up one above another.
struct Training {
  std::string_view subject;
  Runs runs;
  Range epochs;

  EpochChart chart(std::string_view title, std::vector<Curve> curves,
                   std::optional<Range> y = std::nullopt) const {
    EpochChart made{.title = fmt::format("{}: {}", subject, title),
                    .curves = std::move(curves),
                    .epochs = epochs,
                    .y = y};
    if (runs.size() == 1 && runs.front()->best_epoch >= 0) {
      made.best_epoch = static_cast<double>(runs.front()->best_epoch);
    }
    return made;
  }
};

Training training_of(std::string_view subject, const Runs& runs) {
  return {subject, runs, epochs_of({{"", 0, validation_curve(runs, ValidationFigure::kAp)}})};
}

std::string line_figure(const Training& training, std::string_view title, std::string_view caption,
                        const std::vector<Curve>& curves, std::optional<Range> y = std::nullopt) {
  if (curves.empty()) return "";
  const EpochChart chart = training.chart(title, curves, y);
  return figure(title, caption, line_key(chart) + line_chart(chart));
}

bool have_same_epochs(const std::vector<Curve>& curves) {
  return std::all_of(curves.begin(), curves.end(), [&](const Curve& curve) {
    return std::equal(curve.points.begin(), curve.points.end(), curves.front().points.begin(),
                      curves.front().points.end(),
                      [](const Point& a, const Point& b) { return a.x == b.x; });
  });
}

bool is_zero(const Curve& curve) {
  return std::all_of(curve.points.begin(), curve.points.end(),
                     [](const Point& point) { return point.y == 0; });
}

template <std::size_t size>
std::string share_figure(const Training& training, std::string_view title, std::string_view caption,
                         const Part (&parts)[size], const Runs& runs) {
  std::vector<Curve> curves = curves_of(parts, runs);
  if (curves.size() != size || !have_same_epochs(curves)) return "";
  std::erase_if(curves, is_zero);  // an area that nobody can see needs no key
  if (curves.empty()) return "";
  const EpochChart chart = training.chart(title, std::move(curves), Range{0, 1});
  return figure(title, caption, area_key(chart) + area_chart(chart));
}

}  // namespace

std::string learning_figures(std::string_view subject, const std::vector<NamedRuns>& methods) {
  Runs all;
  for (const NamedRuns& method : methods) {
    all.insert(all.end(), method.runs.begin(), method.runs.end());
  }
  const ValidationFigure chosen_by = common_figure(all);
  const std::vector<NamedRuns> begun = methods_with_epochs(methods, chosen_by);
  const std::vector<NamedRuns> shown = first_and_best(begun, chosen_by);
  const std::vector<int> styles = styles_of(shown);
  std::vector<Curve> curves;
  std::size_t seeds = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    curves.push_back({shown[i].name, styles[i], validation_curve(shown[i].runs, chosen_by)});
    seeds = std::max(seeds, shown[i].runs.size());
  }
  if (curves.empty()) return "";
  const Training training{subject, all, epochs_of(curves)};
  const std::string_view metric = figure_name(chosen_by);
  std::string caption = "After each epoch";
  caption +=
      seeds > 1 ? ", mean of the seeds that got there; bands: ± one standard deviation." : ".";
  caption += chosen_text(begun.size(), shown.size(), metric, "drawn");
  std::string figures =
      line_figure(training, fmt::format("Validation {}", metric), caption, curves);
  const auto ours = std::find_if(methods.begin(), methods.end(),
                                 [](const NamedRuns& method) { return method.name == kOurs; });
  if (ours == methods.end()) return figures;
  const std::vector<Curve> curriculum = curriculum_curves(ours->runs);
  figures += line_figure(training, fmt::format("Curriculum of {}", kOurs),
                         meanings(kCurriculum, curriculum), curriculum, Range{0, 1});
  figures += share_figure(training, fmt::format("Pools of {}", kOurs),
                          "Where the candidates came from.", kPool, ours->runs);
  return figures;
}

std::string mining_figures(std::string_view subject, const RunResult& run) {
  const Training training = training_of(subject, {&run});
  const std::vector<Curve> scores = curves_of(kScores, training.runs);
  const std::string others = meanings(kScores, scores);
  return line_figure(training, "Loss parts", "Means over each epoch, before their weights.",
                     curves_of(kLosses, training.runs)) +
         line_figure(training, "Scores of candidates",
                     "The probability that the model gives to candidates of each kind" +
                         (others.empty() ? "." : "; " + others),
                     scores, Range{0, 1}) +
         share_figure(training, "Selected negatives", "Where the negatives trained on came from.",
                      kSelected, training.runs);
}

std::string question_figures(std::string_view subject, const Runs& runs) {
  const Training training = training_of(subject, runs);
  std::vector<Curve> aps = curves_of(kQuestionAps, runs);
  if (aps.size() < 2) aps.clear();  // one question is what the validation AP shows anyway
  return line_figure(training, "Validation AP by question",
                     "By what the negatives are wrong answers to.", aps) +
         share_figure(training, "Negatives by question", "The share that each question has.",
                      kQuestionShares, runs) +
         line_figure(training, "Difficulty π by question",
                     "The share of a question's negatives that count most, the hardest ones.",
                     curves_of(kQuestionPis, runs), Range{0, 1});
}

bool has_question_curriculum(const Runs& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunResult* run) {
    if (run->curve.empty()) return false;
    return std::isfinite(number_in(metrics_of(*run, run->curve.front()), kQuestionPis[0].metric));
  });
}

std::string variant_figure(const VariantTable::Group& group, const VariantTable& table) {
  const std::string subject = fmt::format("{} · {} · {}", group.network, group.model, group.miner);
  std::vector<double> validation;
  for (const VariantRow& row : group.rows) validation.push_back(row.validation.mean);
  const std::vector<std::size_t> shown = first_and_best(validation, kMostBars);
  std::vector<Bar> bars;
  for (std::size_t i : shown) {
    if (i == 0) continue;  // the first, whose difference is zero
    const VariantRow& row = group.rows[i];
    bars.push_back({.label = row.name,
                    .value = row.percent.mean,
                    .spread = std::isfinite(row.percent.std) ? row.percent.std : 0,
                    .mark = mark_of(row.to_first)});
  }
  if (bars.empty()) return "";
  return figure(
      subject,
      fmt::format("{}: difference to “{}” in percent, mean over the seeds; whiskers: ± one "
                  "standard deviation; ▲ ▼: significant, see the table.{}",
                  measure_text(table.measure), group.rows.front().name,
                  chosen_text(group.rows.size(), shown.size(), figure_name(table.validation_figure),
                              "drawn")),
      bar_chart(subject + ": difference to the first variant", bars));
}

}  // namespace curnm
