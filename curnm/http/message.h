#pragma once

#include <functional>
#include <string>

namespace curnm {

/// What the server passes on: a request that was read whole.
struct HttpRequest {
  std::string method;
  std::string target;  // as sent: path and query
  std::string body;
  std::string authorization;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  int retry_after = 0;     // seconds; 0: not said
  std::string allow = {};  // methods, with 405
};

/// Answers a request: at once or later, from any thread, exactly once.
using Respond = std::function<void(HttpResponse)>;

/// A refusal as every endpoint gives it: {"error":{"code":...,"message":...}}. Codes are stable.
HttpResponse error_response(int status, const std::string& code, const std::string& message);

}  // namespace curnm
