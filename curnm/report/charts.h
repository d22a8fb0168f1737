#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/report/sheets.h"

// Charts as inline SVG. Colours, dashes and fonts come from the page's style by class, so that they
// follow light, dark and print, and each is defined once for all charts.

namespace curnm {

struct Range {
  double low = 0;
  double high = 1;
};

/// Round numbers from at or below `low` to at or above `high`, about `count` of them.
/// REQUIRES: low < high.
std::vector<double> nice_ticks(double low, double high, int count);

struct Point {
  double x = 0;
  double y = 0;
  double spread = 0;  // half the height of the band around y
};

/// How many pairs of colour and dash the page's style has. Curves have five times as many styles:
/// the further ones differ from the first by their markers.
inline constexpr int kStrokes = 8;

struct Curve {
  std::string label;
  int style = 0;  // stroke and marker; 0 stands out most
  std::vector<Point> points;
};

/// All charts over epochs (or periods) have the same width and margins, so that they line up one
/// above another.
struct EpochChart {
  std::string title;  // alternative text for readers who cannot see the chart
  std::vector<Curve> curves;
  Range epochs;
  std::optional<Range> y;            // default: the range of the curves
  std::optional<double> best_epoch;  // marked by an upright line
  std::string x_title = "epoch";
};
std::string line_chart(const EpochChart& chart);
/// Stacked areas: each curve is a layer on top of the previous ones. REQUIRES: the same x in all.
std::string area_chart(const EpochChart& chart);

struct Bar {
  std::string label;
  double value = kNoValue;
  double spread = 0;  // half the length of the whisker
  Mark mark = Mark::kNone;
};
/// Horizontal bars from zero, in percent.
std::string bar_chart(std::string_view title, const std::vector<Bar>& bars);

/// What the colours and the upright line mean, as HTML above a chart.
std::string line_key(const EpochChart& chart);
std::string area_key(const EpochChart& chart);

}  // namespace curnm
