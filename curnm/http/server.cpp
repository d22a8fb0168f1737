#include "curnm/http/server.h"

#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/version.h"

namespace curnm {
namespace http_detail {  // named, because HttpServer::Parts uses it

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

/// Threads that work on a queue of bounded length.
class Workers {
 public:
  Workers(int threads, int most) : most_(most) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Workers() { stop(); }

  /// False if too much waits already.
  bool add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (stopping_ || std::ssize(queue_) >= most_) return false;
    queue_.push_back(std::move(work));
    changed_.notify_one();
    return true;
  }
  int waiting() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(queue_.size());
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void run() {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }

  const std::ptrdiff_t most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class Session;

/// What outlives the server while a connection does. A session ends on whichever thread lets go of
/// it last.
struct Shared {
  std::mutex mutex;  // of the sessions
  std::set<Session*> sessions;
  HttpLimits limits;
  std::function<void(const HttpRequest&, Respond)> handler;
  std::unique_ptr<Workers> workers;
  std::atomic<int> connections = 0;
  std::atomic<std::int64_t> refused = 0;
  std::atomic<std::int64_t> overloads = 0;
  std::atomic<bool> draining = false;
};

/// One connection: reads a request, has it answered, writes the answer, and so on. All of its
/// methods run on the thread of the connections.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, std::shared_ptr<Shared> shared)
      : stream_(std::move(socket)), shared_(std::move(shared)) {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->connections;
    shared_->sessions.insert(this);
  }
  ~Session() {
    const std::lock_guard lock(shared_->mutex);
    shared_->sessions.erase(this);
    --shared_->connections;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() {
    beast::error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    wait_for_request(shared_->limits.header_time);
  }
  /// One connection too many.
  void refuse() {
    keep_alive_ = false;
    write(error_response(503, "too_many_connections",
                         "this server has as many connections as it takes; try again later"));
  }
  /// Ends a connection on which nothing is going on.
  void end_if_idle() {
    if (waiting_) close();
  }

 private:
  void wait_for_request(std::chrono::milliseconds most) {
    waiting_ = buffer_.size() == 0;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->limits.header));
    parser_->body_limit(shared_->limits.body);
    stream_.expires_after(most);
    if (!waiting_) return read_header();
    // The clock of the header starts with its first byte.
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = shared_from_this()](beast::error_code error, std::size_t n) {
                              if (error) return self->close();
                              self->waiting_ = false;
                              self->buffer_.commit(n);
                              self->stream_.expires_after(self->shared_->limits.header_time);
                              self->read_header();
                            });
  }
  void read_header() {
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) return self->refuse_reading(error);
                              self->read_body();
                            });
  }
  void read_body() {
    stream_.expires_after(shared_->limits.body_time);
    if (parser_->get()[http::field::expect] == "100-continue") {
      static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(stream_, asio::buffer(kGoOn),
                        [self = shared_from_this()](beast::error_code error, std::size_t) {
                          if (error) return self->close();
                          self->read_rest();
                        });
      return;
    }
    read_rest();
  }
  void read_rest() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (error) return self->refuse_reading(error);
                       self->answer();
                     });
  }

  void refuse_reading(beast::error_code error) {
    keep_alive_ = false;
    if (error == http::error::body_limit) {
      return write(error_response(
          413, "body_too_large",
          fmt::format("a request may have {} bytes; send events in parts", shared_->limits.body)));
    }
    if (error == http::error::header_limit) {
      return write(
          error_response(431, "header_too_large",
                         fmt::format("a header may have {} bytes", shared_->limits.header)));
    }
    if (error == beast::error::timeout) {
      // The stream is closed by then: there is nobody to tell.
      return close();
    }
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return write(error_response(400, "bad_http", error.message()));
    }
    close();
  }

  void answer() {
    auto& message = parser_->get();
    keep_alive_ = message.keep_alive() && !shared_->draining;
    is_head_ = message.method() == http::verb::head;
    stream_.expires_never();
    auto request = std::make_shared<HttpRequest>(
        HttpRequest{.method = is_head_ ? "GET" : std::string(message.method_string()),
                    .target = std::string(message.target()),
                    .body = std::move(message.body()),
                    .authorization = std::string(message[http::field::authorization])});
    const bool accepted = shared_->workers->add([self = shared_from_this(), request] {
      self->shared_->handler(*request, [self](HttpResponse response) {
        asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
          self->write(std::move(response));
        });
      });
    });
    if (accepted) return;
    ++shared_->overloads;
    HttpResponse busy = error_response(429, "overloaded", "too many requests wait; try again");
    busy.retry_after = 1;
    write(std::move(busy));
  }

  void write(HttpResponse response) {
    response_.emplace();
    response_->version(11);
    response_->result(static_cast<unsigned>(response.status));
    response_->set(http::field::server, "curnm");
    response_->set(http::field::content_type, response.type);
    response_->set(http::field::cache_control, "no-store");
    response_->set("X-Content-Type-Options", "nosniff");
    if (response.retry_after > 0) {
      response_->set(http::field::retry_after, std::to_string(response.retry_after));
    }
    if (!response.allow.empty()) response_->set(http::field::allow, response.allow);
    if (response.status == 401) response_->set(http::field::www_authenticate, "Bearer");
    if (shared_->draining) keep_alive_ = false;
    response_->keep_alive(keep_alive_);
    response_->body() = std::move(response.body);
    response_->prepare_payload();
    if (is_head_) response_->body().clear();
    stream_.expires_after(shared_->limits.body_time);
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        self->response_.reset();
                        if (error || !self->keep_alive_) return self->finish();
                        self->wait_for_request(self->shared_->limits.idle_time);
                      });
  }

  /// Lets the client read the answer before the connection goes, even if it is still sending.
  void finish() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(1));
    drop_input();
  }
  void drop_input() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(65536),
                            [self = shared_from_this()](beast::error_code error, std::size_t n) {
                              self->dropped_ += n;
                              constexpr std::size_t kMost = std::size_t{4} << 20;
                              if (error || self->dropped_ > kMost) return self->close();
                              self->drop_input();
                            });
  }
  void close() {
    beast::error_code ignored;
    stream_.socket().close(ignored);
  }

  beast::tcp_stream stream_;
  std::shared_ptr<Shared> shared_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::size_t dropped_ = 0;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool waiting_ = false;  // for the first byte of a request
};

asio::ip::address parse_address(const std::string& text) {
  beast::error_code error;
  const auto address = asio::ip::make_address(text == "localhost" ? "127.0.0.1" : text, error);
  if (error) fail<UsageError>("'{}' is no address: give one such as 127.0.0.1 or ::1", text);
  return address;
}

}  // namespace http_detail

using namespace http_detail;

HttpResponse error_response(int status, const std::string& code, const std::string& message) {
  const nlohmann::ordered_json body = {{"error", {{"code", code}, {"message", message}}}};
  // Messages may quote what was sent: bytes that are no text are replaced.
  return {.status = status,
          .body = body.dump(-1, ' ', /*ensure_ascii=*/false,
                            nlohmann::ordered_json::error_handler_t::replace)};
}

bool is_loopback(const std::string& address) { return parse_address(address).is_loopback(); }

struct HttpServer::Parts {
  asio::io_context context{1};
  // While requests are being answered, the thread of the connections may have nothing to wait for.
  asio::executor_work_guard<asio::io_context::executor_type> until_stopped{context.get_executor()};
  tcp::acceptor acceptor{context};
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  asio::steady_timer retry{context};
  std::thread thread;

  void accept() {
    acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (error) {
        // No descriptors left: others must end first.
        retry.expires_after(std::chrono::milliseconds(50));
        retry.async_wait([this](beast::error_code stopped) {
          if (!stopped) accept();
        });
        return;
      }
      const auto session = std::make_shared<Session>(std::move(socket), shared);
      if (shared->connections > shared->limits.connections) {
        ++shared->refused;
        session->refuse();
      } else {
        session->start();
      }
      accept();
    });
  }
};

HttpServer::HttpServer(const std::string& address, int port, const HttpLimits& limits,
                       std::function<void(const HttpRequest&, Respond)> handler)
    : parts_(std::make_unique<Parts>()) {
  const tcp::endpoint endpoint(parse_address(address), static_cast<std::uint16_t>(port));
  parts_->shared->limits = limits;
  parts_->shared->handler = std::move(handler);
  parts_->shared->workers = std::make_unique<Workers>(limits.threads, limits.queue);
  try {
    parts_->acceptor.open(endpoint.protocol());
    parts_->acceptor.set_option(asio::socket_base::reuse_address(true));
    parts_->acceptor.bind(endpoint);
    parts_->acceptor.listen(asio::socket_base::max_listen_connections);
  } catch (const boost::system::system_error& error) {
    fail("cannot listen on {}:{}: {}", address, port, error.code().message());
  }
  parts_->accept();
  parts_->thread = std::thread([parts = parts_.get()] { parts->context.run(); });
}

HttpServer::~HttpServer() {
  drain(std::chrono::milliseconds(0));
  parts_->context.stop();
  parts_->thread.join();
  parts_->shared->workers->stop();
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

HttpCounts HttpServer::counts() const {
  const Shared& shared = *parts_->shared;
  return {.connections = shared.connections,
          .queued = shared.workers->waiting(),
          .refused_connections = shared.refused,
          .overloads = shared.overloads};
}

void HttpServer::drain(std::chrono::milliseconds most) {
  parts_->shared->draining = true;
  asio::post(parts_->context, [parts = parts_.get()] {
    beast::error_code ignored;
    parts->acceptor.close(ignored);
    const std::lock_guard lock(parts->shared->mutex);
    for (Session* session : parts->shared->sessions) session->end_if_idle();
  });
  const auto end = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < end && parts_->shared->connections > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace curnm
