#include "curnm/report/charts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "curnm/report/text.h"

namespace curnm {
namespace {

// In pixels of a phone, where text becomes too small first; larger screens scale up.
constexpr double kWidth = 360;
constexpr double kLetter = 7;  // width of one, about
constexpr std::size_t kLabelLetters = 20;
constexpr double kBarStep = 24;
constexpr std::size_t kMarkersPerCurve = 6;

struct Box {
  double left, top, right, bottom;
};
constexpr Box kEpochBox = {.left = 52, .top = 8, .right = kWidth - 14, .bottom = 138};

/// Rounded to a tenth, as short as possible: charts are mostly coordinates.
std::string px(double value) {
  const long tenths = std::lround(value * 10);
  return tenths % 10 == 0 ? std::to_string(tenths / 10)
                          : fmt::format("{:.1f}", static_cast<double>(tenths) / 10);
}

/// Maps a range of numbers to pixels; values outside are clamped.
struct Scale {
  Range range;
  double from;
  double to;

  double operator()(double value) const {
    const double share = (value - range.low) / (range.high - range.low);
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

Range widened(Range range) {
  if (range.low < range.high) return range;
  const double margin = range.low == 0 ? 1 : std::abs(range.low) / 10;
  return {range.low - margin, range.low + margin};
}

Range enclosing(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return widened({*low, *high});
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  int digits = 0;
  const auto is_round = [&](double tick) {
    const double scaled = tick * std::pow(10, digits);
    return std::abs(scaled - std::round(scaled)) < 1e-6;
  };
  while (digits < 6 && !std::all_of(ticks.begin(), ticks.end(), is_round)) ++digits;
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back((tick < 0 ? "−" : "") + decimal(std::abs(tick), digits));
  }
  return labels;
}

void add_text(std::string& out, double x, double y, std::string_view anchor,
              std::string_view text) {
  append(out, R"(<text x="{}" y="{}" text-anchor="{}">{}</text>)", px(x), px(y), anchor,
         html_escape(text));
}

void add_x_axis(std::string& out, const Box& box, const Scale& x, const std::vector<double>& ticks,
                std::string_view title) {
  const std::vector<std::string> labels = tick_labels(ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    add_text(out, x(ticks[i]), box.bottom + 14, "middle", labels[i]);
  }
  add_text(out, (box.left + box.right) / 2, box.bottom + 28, "middle", title);
}

std::string open_svg(std::string_view title, const Box& box) {
  return fmt::format(R"(<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">)",
                     kWidth, px(box.bottom + 34), html_escape(title));
}

/// An SVG with axes, before curves are added.
struct EpochFrame {
  Scale x;
  Scale y;
  std::string svg;
};

EpochFrame open_epoch_chart(const EpochChart& chart, Range needed) {
  const std::vector<double> y_ticks = nice_ticks(needed.low, needed.high, 4);
  const Range epochs = widened(chart.epochs);
  EpochFrame frame{.x = {epochs, kEpochBox.left, kEpochBox.right},
                   .y = {{y_ticks.front(), y_ticks.back()}, kEpochBox.bottom, kEpochBox.top},
                   .svg = open_svg(chart.title, kEpochBox)};
  std::string grid;
  const std::vector<std::string> labels = tick_labels(y_ticks);
  for (std::size_t i = 0; i < y_ticks.size(); ++i) {
    const double y = frame.y(y_ticks[i]);
    append(grid, "M{} {}H{}", px(kEpochBox.left), px(y), px(kEpochBox.right));
    add_text(frame.svg, kEpochBox.left - 6, y + 4, "end", labels[i]);
  }
  append(frame.svg, R"(<path class="grid" d="{}"/>)", grid);
  std::vector<double> x_ticks = nice_ticks(epochs.low, epochs.high, 6);
  std::erase_if(x_ticks, [&](double tick) {
    return tick < epochs.low || tick > epochs.high || tick != std::round(tick);
  });
  add_x_axis(frame.svg, kEpochBox, frame.x, x_ticks, chart.x_title);
  return frame;
}

std::string line_path(const EpochFrame& frame, const std::vector<Point>& points) {
  std::string path;
  bool pen_down = false;
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) {
      pen_down = false;
      continue;
    }
    append(path, "{}{} {}", std::exchange(pen_down, true) ? 'L' : 'M', px(frame.x(point.x)),
           px(frame.y(point.y)));
  }
  return path;
}

/// The area between two lines: along the one and back along the other.
std::string between(const EpochFrame& frame, const std::vector<Point>& upper,
                    std::vector<Point> lower) {
  std::reverse(lower.begin(), lower.end());
  std::string back = line_path(frame, lower);
  if (back.empty()) return back;
  back.front() = 'L';
  return line_path(frame, upper) + back + "Z";
}

std::string band_path(const EpochFrame& frame, const std::vector<Point>& points) {
  std::vector<Point> upper;
  std::vector<Point> lower;
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) continue;
    upper.push_back({point.x, point.y + point.spread});
    lower.push_back({point.x, point.y - point.spread});
  }
  return between(frame, upper, std::move(lower));
}

/// Colour and dash, as the page's style names them.
int stroke(const Curve& curve) { return curve.style % kStrokes; }

/// Shapes tell curves apart where colours and dashes do not.
std::string marker(const Curve& curve, double x, double y) {
  switch ((curve.style + curve.style / kStrokes) % 5) {
    case 0:
      return fmt::format("M{} {}a3 3 0 1 0 6 0a3 3 0 1 0-6 0", px(x - 3), px(y));
    case 1:
      return fmt::format("M{} {}h5v5h-5z", px(x - 2.5), px(y - 2.5));
    case 2:
      return fmt::format("M{} {}l3.2 5.6h-6.4z", px(x), px(y - 3.6));
    case 3:
      return fmt::format("M{} {}l3.6 3.6-3.6 3.6-3.6-3.6z", px(x), px(y - 3.6));
    default:
      return fmt::format("M{} {}l3.2-5.6h-6.4z", px(x), px(y + 3.6));
  }
}

/// The markers of a chart's curve, some points apart. Curves take turns, so that those that lie on
/// each other can still be told apart.
std::string marker_path(const EpochFrame& frame, const std::vector<Curve>& curves,
                        std::size_t index) {
  const Curve& curve = curves[index];
  const std::size_t size = curve.points.size();
  if (size == 0) return "";
  const std::size_t step = std::max(size / kMarkersPerCurve, curves.size());
  std::string path;
  for (std::size_t i = index * step / curves.size() % size; i < size; i += step) {
    const Point& point = curve.points[i];
    if (!std::isfinite(point.y)) continue;
    path += marker(curve, frame.x(point.x), frame.y(point.y));
  }
  return path;
}

/// A label short enough to fit beside a bar; the full name is in the table.
std::string shortened(const std::string& label) {
  std::size_t letters = 0;
  for (std::size_t i = 0; i < label.size(); ++i) {
    const bool begins_letter = (static_cast<unsigned char>(label[i]) & 0xC0) != 0x80;  // UTF-8
    if (begins_letter && ++letters > kLabelLetters) return label.substr(0, i) + "…";
  }
  return label;
}

std::string key(const EpochChart& chart, std::string (*sample)(const Curve&)) {
  std::string out = R"(<ul class="key">)";
  const auto add = [&](const std::string& drawing, std::string_view label) {
    append(out, R"(<li><svg viewBox="0 0 28 12" aria-hidden="true">{}</svg>{}</li>)", drawing,
           html_escape(label));
  };
  for (const Curve& curve : chart.curves) add(sample(curve), curve.label);
  if (chart.best_epoch) {
    add(R"(<path class="best-epoch" d="M14 0V12"/>)",
        fmt::format("best epoch, {}", *chart.best_epoch));
  }
  return out + "</ul>";
}

std::string close_epoch_chart(const EpochChart& chart, EpochFrame frame) {
  if (chart.best_epoch) {
    append(frame.svg, R"(<path class="best-epoch" d="M{} {}V{}"/>)", px(frame.x(*chart.best_epoch)),
           px(kEpochBox.top), px(kEpochBox.bottom));
  }
  return frame.svg + "</svg>";
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1., 2., 2.5, 5.}) {
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  const auto first = static_cast<long>(std::floor(low / step + 1e-9));
  const auto last = static_cast<long>(std::ceil(high / step - 1e-9));
  std::vector<double> ticks;
  for (long i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::string line_chart(const EpochChart& chart) {
  std::vector<double> extremes;
  for (const Curve& curve : chart.curves) {
    for (const Point& point : curve.points) {
      if (!std::isfinite(point.y)) continue;
      extremes.push_back(point.y - point.spread);
      extremes.push_back(point.y + point.spread);
    }
  }
  EpochFrame frame = open_epoch_chart(chart, chart.y ? *chart.y : enclosing(extremes));
  for (const Curve& curve : chart.curves) {
    const bool has_band = std::any_of(curve.points.begin(), curve.points.end(),
                                      [](const Point& point) { return point.spread > 0; });
    if (!has_band) continue;
    append(frame.svg, R"(<path class="band s{}" d="{}"/>)", stroke(curve),
           band_path(frame, curve.points));
  }
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const Curve& curve = chart.curves[i];
    append(frame.svg, R"(<path class="line s{0}" d="{1}"/><path class="dots s{0}" d="{2}"/>)",
           stroke(curve), line_path(frame, curve.points), marker_path(frame, chart.curves, i));
  }
  return close_epoch_chart(chart, std::move(frame));
}

std::string area_chart(const EpochChart& chart) {
  EpochFrame frame = open_epoch_chart(chart, chart.y.value_or(Range{}));
  std::vector<Point> below;
  for (const Curve& curve : chart.curves) {
    if (below.empty()) {
      for (const Point& point : curve.points) below.push_back({point.x, 0});
    }
    std::vector<Point> top = below;
    for (std::size_t i = 0; i < top.size(); ++i) top[i].y += curve.points[i].y;
    append(frame.svg, R"(<path class="area a{}" d="{}"/>)", curve.style,
           between(frame, top, below));
    below = std::move(top);
  }
  return close_epoch_chart(chart, std::move(frame));
}

std::string bar_chart(std::string_view title, const std::vector<Bar>& bars) {
  std::vector<double> extremes = {0};
  std::size_t letters = 0;
  for (const Bar& bar : bars) {
    letters = std::max(letters, std::min(bar.label.size(), kLabelLetters + 1));
    if (!std::isfinite(bar.value)) continue;
    extremes.push_back(bar.value - bar.spread);
    extremes.push_back(bar.value + bar.spread);
  }
  const Box box = {.left = 18 + kLetter * static_cast<double>(letters),
                   .top = 6,
                   .right = kWidth - 66,
                   .bottom = 10 + kBarStep * static_cast<double>(bars.size())};
  const Range needed = enclosing(extremes);
  const std::vector<double> ticks = nice_ticks(needed.low, needed.high, 3);
  const Scale x{{ticks.front(), ticks.back()}, box.left, box.right};
  std::string out = open_svg(title, box);
  std::string grid;
  for (const double tick : ticks) {
    append(grid, "M{} {}V{}", px(x(tick)), px(box.top), px(box.bottom));
  }
  append(out, R"(<path class="grid" d="{}"/>)", grid);
  add_x_axis(out, box, x, ticks, "difference, percent");
  double y = box.top + kBarStep / 2;
  for (const Bar& bar : bars) {
    add_text(out, box.left - 8, y + 4, "end", shortened(bar.label));
    add_text(out, kWidth - 4, y + 4, "end",
             signed_decimal(bar.value, 2) + (bar.mark == Mark::kAbove   ? " ▲"
                                             : bar.mark == Mark::kBelow ? " ▼"
                                                                        : ""));
    if (std::isfinite(bar.value)) {
      const double left = x(std::min(bar.value, 0.0));
      append(out, R"(<rect class="bar" x="{}" y="{}" width="{}" height="14"/>)", px(left),
             px(y - 7), px(x(std::max(bar.value, 0.0)) - left));
      if (bar.spread > 0) {
        append(out, R"(<path class="whisker" d="M{0} {2}v8m0-4H{1}m0-4v8"/>)",
               px(x(bar.value - bar.spread)), px(x(bar.value + bar.spread)), px(y - 4));
      }
    }
    y += kBarStep;
  }
  append(out, R"(<path class="zero" d="M{} {}V{}"/></svg>)", px(x(0)), px(box.top), px(box.bottom));
  return out;
}

std::string line_key(const EpochChart& chart) {
  return key(chart, [](const Curve& curve) {
    return fmt::format(R"(<path class="line s{0}" d="M0 6H28"/><path class="dots s{0}" d="{1}"/>)",
                       stroke(curve), marker(curve, 14, 6));
  });
}

std::string area_key(const EpochChart& chart) {
  return key(chart, [](const Curve& curve) {
    return fmt::format(R"(<path class="area a{}" d="M6 0h16v12h-16z"/>)", curve.style);
  });
}

}  // namespace curnm
