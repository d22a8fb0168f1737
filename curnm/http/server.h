#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "curnm/http/message.h"

namespace curnm {

struct HttpLimits {
  std::size_t body = std::size_t{16} << 20;  // bytes
  std::size_t header = 16384;                // bytes
  int connections = 1000;
  int queue = 256;  // requests that wait for a thread
  int threads = 2;  // that answer
  std::chrono::milliseconds header_time{10'000};
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds idle_time{60'000};
};

/// What a server counts; may be read at any time.
struct HttpCounts {
  int connections = 0;
  int queued = 0;
  std::int64_t refused_connections = 0;
  std::int64_t overloads = 0;
};

/// An HTTP/1.1 server: one thread reads and writes all connections, a few threads answer.
///
/// Slow and idle clients cost no thread. A request that is too large, too slow or not HTTP, and one
/// too many, is answered with an error of its own (413, 408, 400, 429, 503); a half-open connection
/// ends when its time is up.
class HttpServer {
 public:
  /// Listens from now on; port 0 takes a free one. Throws Error if the address cannot be used.
  HttpServer(const std::string& address, int port, const HttpLimits& limits,
             std::function<void(const HttpRequest&, Respond)> handler);
  /// Stops.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  HttpCounts counts() const;
  /// Takes no new connections, answers what it has read, and closes; at most that long.
  void drain(std::chrono::milliseconds most);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Whether an address is of this machine alone. Throws Error for text that is no address.
bool is_loopback(const std::string& address);

}  // namespace curnm
