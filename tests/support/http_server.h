#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace curnm::testing {

struct HttpRequest {
  std::size_t number = 0;  // request number on this server, from 0
  std::string path;
  std::map<std::string, std::string> headers;  // names in lower case

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// The server's response, and how well it behaves.
struct HttpReply {
  int status = 200;
  std::string body = {};
  std::string etag = {};                       // none when empty
  std::string location = {};                   // of a redirection
  bool ranges = true;                          // false: sends everything, whatever was requested
  bool if_range = true;                        // false: sends the range of whatever version it has
  std::int64_t range_shift = 0;                // offset of the range sent from the one requested
  std::size_t range_size = std::string::npos;  // upper limit of a range
  std::int64_t close_after = -1;               // bytes of the body; -1 sends all of it
  std::int64_t stall_after = -1;      // bytes of the body, then silence until the client leaves
  std::chrono::milliseconds pause{};  // after each 1000 bytes
};

/// A server for tests on 127.0.0.1, at a port of its own. One connection at a time, one request per
/// connection. The handler runs in the server's thread.
class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)), listener_(listen_locally()) {
    thread_ = std::thread([this] { serve(); });
  }
  explicit HttpServer(HttpReply reply)
      : HttpServer([reply = std::move(reply)](const HttpRequest&) { return reply; }) {}
  ~HttpServer() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(std::string_view path) const {
    return "http://127.0.0.1:" + std::to_string(port_of(listener_)) + std::string(path);
  }
  std::vector<HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  /// A port of 127.0.0.1 at which nobody listens.
  static int closed_port() {
    const int listener = listen_locally();
    const int port = port_of(listener);
    ::close(listener);
    return port;
  }

 private:
  static int listen_locally() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener, 16) != 0) {
      throw std::runtime_error("no port to listen at");
    }
    return listener;
  }
  static int port_of(int listener) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

  void serve() {
    while (!stopping_) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      // A silent client must not block the test.
      const timeval patience{.tv_sec = 5, .tv_usec = 0};
      ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
      const std::string text = receive_head(client);
      if (!text.empty()) {
        const HttpRequest request = remember(parse(text));
        answer(client, request, handler_(request));
      }
      ::close(client);
    }
  }

  static std::string receive_head(int client) {
    std::string text;
    std::array<char, 4096> block{};
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(client, block.data(), block.size(), 0);
      if (got <= 0) return {};
      text.append(block.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  static HttpRequest parse(const std::string& text) {
    HttpRequest request;
    const std::size_t start = text.find(' ') + 1;
    request.path = text.substr(start, text.find(' ', start) - start);
    std::size_t line = text.find("\r\n") + 2;
    while (text.compare(line, 2, "\r\n") != 0) {
      const std::size_t end = text.find("\r\n", line);
      const std::size_t colon = text.find(": ", line);
      std::string name = text.substr(line, colon - line);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      request.headers[name] = text.substr(colon + 2, end - colon - 2);
      line = end + 2;
    }
    return request;
  }

  HttpRequest remember(HttpRequest request) {
    const std::lock_guard lock(mutex_);
    request.number = requests_.size();
    return requests_.emplace_back(std::move(request));
  }

  void answer(int client, const HttpRequest& request, HttpReply reply) {
    std::string head;
    const std::string if_range = request.header("if-range");
    const bool same = if_range.empty() || !reply.if_range || if_range == reply.etag;
    if (reply.status == 200 && reply.ranges && same && !request.header("range").empty()) {
      head = cut_range(request.header("range"), reply);
    }
    if (!reply.etag.empty()) head += "ETag: " + reply.etag + "\r\n";
    if (!reply.location.empty()) head += "Location: " + reply.location + "\r\n";
    send_all(client, "HTTP/1.1 " + std::to_string(reply.status) + " Test\r\n" + head +
                         "Content-Length: " + std::to_string(reply.body.size()) +
                         "\r\nConnection: close\r\n\r\n");
    send_body(client, reply);
  }

  /// Reduces the body to a range `bytes=N-`; returns the matching header.
  static std::string cut_range(const std::string& range, HttpReply& reply) {
    const std::string total = std::to_string(reply.body.size());
    const std::int64_t first = std::stoll(range.substr(range.find('=') + 1)) + reply.range_shift;
    if (first >= static_cast<std::int64_t>(reply.body.size())) {
      reply.status = 416;
      reply.body.clear();
      return "Content-Range: bytes */" + total + "\r\n";
    }
    reply.status = 206;
    reply.body = reply.body.substr(static_cast<std::size_t>(first), reply.range_size);
    const std::int64_t last = first + static_cast<std::int64_t>(reply.body.size()) - 1;
    return "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
           total + "\r\n";
  }

  void send_body(int client, const HttpReply& reply) {
    std::string_view body = reply.body;
    const std::int64_t limit = std::max(reply.close_after, reply.stall_after);
    if (limit >= 0) body = body.substr(0, static_cast<std::size_t>(limit));
    while (!body.empty() && !stopping_) {
      const std::size_t count = std::min<std::size_t>(body.size(), 1000);
      if (!send_all(client, body.substr(0, count))) return;
      body.remove_prefix(count);
      std::this_thread::sleep_for(reply.pause);
    }
    char ignored = 0;
    if (reply.stall_after >= 0) ::recv(client, &ignored, 1, 0);
  }

  static bool send_all(int client, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  Handler handler_;
  int listener_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::thread thread_;
};

}  // namespace curnm::testing
