#include "curnm/http/requests.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "curnm/base/names.h"

namespace curnm {
namespace {

namespace dom = simdjson::dom;
constexpr std::size_t kLongestName = 1024;

/// A document whose values are looked at with the place they are at, for messages.
dom::element parse(dom::parser& parser, std::string_view body) {
  dom::element document;
  if (const auto error = parser.parse(body.data(), body.size()).get(document)) {
    refuse(400, "bad_json", "the body is not JSON: {}", simdjson::error_message(error));
  }
  return document;
}

dom::object object_of(dom::element value, const std::string& where) {
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) refuse(400, "bad_type", "{} is no object", where);
  return object;
}
dom::array array_of(dom::element value, const std::string& where) {
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS) refuse(400, "bad_type", "{} is no list", where);
  return array;
}

std::string checked_name(std::string name, const std::string& where) {
  if (name.empty()) refuse(400, "bad_value", "{} is empty", where);
  if (name.size() > kLongestName) {
    refuse(400, "bad_value", "{} has {} bytes; a name may have {}", where, name.size(),
           kLongestName);
  }
  const bool plain = std::ranges::none_of(
      name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (!plain) refuse(400, "bad_value", "{} has control characters", where);
  return name;
}

std::string name_of(dom::element value, const std::string& where) {
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
    return checked_name(std::string(text), where);
  }
  if (std::int64_t number = 0; value.get(number) == simdjson::SUCCESS) {
    return std::to_string(number);
  }
  refuse(400, "bad_type", "{} is neither a text nor a whole number", where);
}

Timestamp checked_time(double time, const std::string& where) {
  if (!std::isfinite(time)) refuse(400, "bad_value", "{} is {}", where, time);
  if (std::abs(time) > kLargestTime) {
    refuse(400, "bad_value", "{} is {}: whole numbers beyond 2^53 are not exact", where, time);
  }
  return time;
}
Timestamp time_of(dom::element value, const std::string& where) {
  double time = 0;
  if (value.get(time) != simdjson::SUCCESS) refuse(400, "bad_type", "{} is no number", where);
  return checked_time(time, where);
}

void read_features(dom::element value, std::int64_t width, const std::string& where,
                   std::vector<float>& features) {
  const dom::array array = array_of(value, where);
  if (static_cast<std::int64_t>(array.size()) != width) {
    refuse(400, "feature_width", "{} has {} values: this network has {} per event", where,
           array.size(), width);
  }
  for (const dom::element element : array) {
    double number = 0;
    if (element.get(number) != simdjson::SUCCESS) {
      refuse(400, "bad_type", "{} has a value that is no number", where);
    }
    const auto narrow = static_cast<float>(number);
    if (!std::isfinite(narrow)) refuse(400, "bad_value", "{} has a value of {}", where, number);
    features.push_back(narrow);
  }
}

Question question_of(std::string_view text) {
  const auto names = choice_names(Question{});
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    refuse(400, "bad_value", "question '{}' does not exist: {}", quotable(text),
           fmt::join(names, ", "));
  }
  return static_cast<Question>(found - names.begin());
}

[[noreturn]] void unknown_key(std::string_view key, std::string_view where) {
  refuse(400, "unknown_key", "'{}' means nothing in {}", quotable(key), where);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      result += ' ';
    } else if (text[i] != '%') {
      result += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) refuse(400, "bad_target", "an escape in the address is damaged");
      result += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return result;
}

template <class Number>
Number parse_number(const std::string& text, std::string_view key) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(400, "bad_value", "{}={} is no number", key, quotable(text));
  }
  return number;
}

bool parse_flag(const std::string& text, std::string_view key) {
  if (text == "1" || text == "true") return true;
  if (text == "0" || text == "false") return false;
  refuse(400, "bad_value", "{}={} is neither 0 nor 1", key, quotable(text));
}

}  // namespace

Target parse_target(std::string_view target) {
  const std::size_t mark = target.find('?');
  Target parsed{.path = decoded(target.substr(0, mark), /*plus_is_space=*/false)};
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
    std::string key = decoded(item.substr(0, equals), /*plus_is_space=*/true);
    if (!parsed.query.emplace(key, decoded(value, /*plus_is_space=*/true)).second) {
      refuse(400, "bad_target", "'{}' is given twice", quotable(key));
    }
  }
  return parsed;
}

StreamEvents parse_events(std::string_view body, std::int64_t width, std::int64_t most) {
  dom::parser parser;
  StreamEvents events;
  const dom::element document = parse(parser, body);
  bool has_events = false;
  for (const auto& [top_key, top_value] : object_of(document, "the body")) {
    if (top_key != "events" || has_events) unknown_key(top_key, "a request of events");
    has_events = true;
    const dom::array list = array_of(top_value, "events");
    for (const dom::element element : list) {
      const auto at = [&](std::string_view key) {
        return fmt::format("events[{}]{}{}", events.time.size(), key.empty() ? "" : ".", key);
      };
      if (events.size() >= most) {
        refuse(413, "too_many_events", "a request may have {} events; send them in parts", most);
      }
      std::optional<std::string> src;
      std::optional<std::string> dst;
      std::optional<Timestamp> time;
      bool has_features = width == 0;
      for (const auto& [key, value] : object_of(element, at(""))) {
        if (key == "src" && !src) {
          src = name_of(value, at("src"));
        } else if (key == "dst" && !dst) {
          dst = name_of(value, at("dst"));
        } else if (key == "time" && !time) {
          time = time_of(value, at("time"));
        } else if (key == "features" && (width == 0 || !has_features)) {
          read_features(value, width, at("features"), events.features);
          has_features = true;
        } else {
          unknown_key(key, at(""));
        }
      }
      if (!src || !dst || !time) {
        refuse(400, "missing_key", "{} lacks {}", at(""), !src ? "src" : !dst ? "dst" : "time");
      }
      if (!has_features) {
        refuse(400, "feature_width", "{} has no features: this network has {} per event", at(""),
               width);
      }
      events.src.push_back(std::move(*src));
      events.dst.push_back(std::move(*dst));
      events.time.push_back(*time);
    }
  }
  if (!has_events) refuse(400, "missing_key", "the body lacks events");
  if (events.size() == 0) refuse(400, "bad_value", "events is empty");
  return events;
}

ScoreRequest parse_score(std::string_view body, std::int64_t most) {
  dom::parser parser;
  ScoreRequest request;
  const dom::element document = parse(parser, body);
  for (const auto& [key, value] : object_of(document, "the body")) {
    if (key == "time") {
      request.time = time_of(value, "time");
    } else if (key == "question") {
      std::string_view text;
      if (value.get(text) != simdjson::SUCCESS) refuse(400, "bad_type", "question is no text");
      request.question = question_of(text);
    } else if (key == "pairs") {
      for (const dom::element element : array_of(value, "pairs")) {
        const std::string where = fmt::format("pairs[{}]", request.src.size());
        if (std::ssize(request.src) >= most) {
          refuse(413, "too_many_pairs", "a request may have {} pairs; send them in parts", most);
        }
        std::string src;
        std::string dst;
        for (const auto& [end, name] : object_of(element, where)) {
          if (end == "src" && src.empty()) {
            src = name_of(name, where + ".src");
          } else if (end == "dst" && dst.empty()) {
            dst = name_of(name, where + ".dst");
          } else {
            unknown_key(end, where);
          }
        }
        if (src.empty() || dst.empty()) {
          refuse(400, "missing_key", "{} lacks {}", where, src.empty() ? "src" : "dst");
        }
        request.src.push_back(std::move(src));
        request.dst.push_back(std::move(dst));
      }
    } else {
      unknown_key(key, "a request of scores");
    }
  }
  if (request.src.empty()) refuse(400, "missing_key", "the body lacks pairs");
  return request;
}

TopRequest parse_top(const std::map<std::string, std::string>& query, std::int64_t most) {
  TopRequest request;
  for (const auto& [key, value] : query) {
    if (key == "src") {
      request.src = checked_name(value, "src");
    } else if (key == "k") {
      request.k = parse_number<std::int64_t>(value, key);
      if (request.k < 1 || request.k > most) {
        refuse(400, "bad_value", "k={} is not between 1 and {}", request.k, most);
      }
    } else if (key == "time") {
      request.time = checked_time(parse_number<double>(value, key), "time");
    } else if (key == "question") {
      request.question = question_of(value);
    } else if (key == "exclude_seen") {
      request.exclude_seen = parse_flag(value, key);
    } else if (key == "explain") {
      request.explain = parse_flag(value, key);
    } else {
      unknown_key(key, "the address");
    }
  }
  if (request.src.empty()) refuse(400, "missing_key", "the address lacks src=");
  return request;
}

std::optional<std::string> parse_exchange(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return std::nullopt;
  dom::parser parser;
  std::optional<std::string> file;
  const dom::element document = parse(parser, body);
  for (const auto& [key, value] : object_of(document, "the body")) {
    std::string_view text;
    if (key != "model") unknown_key(key, "the body");
    if (value.get(text) != simdjson::SUCCESS) refuse(400, "bad_type", "model is no text");
    file = std::string(text);
  }
  return file;
}

}  // namespace curnm
