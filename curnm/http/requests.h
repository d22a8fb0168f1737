#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/data/stream_events.h"
#include "curnm/sampling/question.h"

// What requests ask for, from their text. Everything from outside is checked here.

namespace curnm {

/// A request that cannot be answered: an HTTP status and a stable code besides the sentence.
class RequestError : public Error {
 public:
  RequestError(int status, std::string code, const std::string& message)
      : Error(message), status_(status), code_(std::move(code)) {}
  int status() const { return status_; }
  const std::string& code() const { return code_; }

 private:
  int status_;
  std::string code_;
};
template <class... Args>
[[noreturn]] void refuse(int status, std::string code, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw RequestError(status, std::move(code), fmt::format(format, std::forward<Args>(args)...));
}

/// A target such as /v1/topk?src=a%20b&k=3, decoded.
struct Target {
  std::string path;
  std::map<std::string, std::string> query;
};
/// Throws RequestError for escapes that are none, and for a key that is given twice.
Target parse_target(std::string_view target);

/// Whole numbers beyond 2^53 are not all doubles: such a time would silently become another one.
inline constexpr double kLargestTime = 9007199254740992.0;

/// {"events":[{"src":"a","dst":"b","time":1,"features":[...]}]}, `width` features each. Ids are
/// text or whole numbers.
StreamEvents parse_events(std::string_view body, std::int64_t width, std::int64_t most);

struct ScoreRequest {
  std::vector<std::string> src;
  std::vector<std::string> dst;
  std::optional<Timestamp> time;
  std::optional<Question> question;
};
/// {"pairs":[{"src":"a","dst":"b"}],"time":1,"question":"pair"}
ScoreRequest parse_score(std::string_view body, std::int64_t most);

struct TopRequest {
  std::string src;
  std::int64_t k = 10;
  std::optional<Timestamp> time;
  std::optional<Question> question;
  bool exclude_seen = false;
  bool explain = false;
};
TopRequest parse_top(const std::map<std::string, std::string>& query, std::int64_t most);

/// {"model":"/path"}: nothing for an empty body.
std::optional<std::string> parse_exchange(std::string_view body);

}  // namespace curnm
