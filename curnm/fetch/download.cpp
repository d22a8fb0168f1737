#include "curnm/fetch/download.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "curnm/base/error.h"
#include "curnm/base/file_lock.h"
#include "curnm/base/files.h"
#include "curnm/base/json.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

/// A transfer that may succeed if retried; the bytes received so far are kept.
class BrokenTransfer : public Error {
 public:
  using Error::Error;
};

/// Deleter that calls a C library's free function.
template <auto kFree>
struct CDeleter {
  template <class T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using File = std::unique_ptr<std::FILE, CDeleter<std::fclose>>;

fs::path with_suffix(fs::path path, std::string_view suffix) { return path += suffix; }

/// Which version of which remote file the bytes belong to.
struct Origin {
  std::string url = {};
  std::string validator = {};  // ETag or date; empty when versions cannot be told apart
  std::int64_t total = 0;      // bytes, 0 when unknown
};

fs::path origin_file(const fs::path& file) { return with_suffix(file, ".origin"); }

Origin read_origin(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(origin_file(file), error)) return {};
  try {
    const nlohmann::ordered_json json = read_json(origin_file(file));
    return {json_string(json, "url"), json_string(json, "validator"),
            json_integer(json, "total", 0, std::numeric_limits<std::int64_t>::max())};
  } catch (const BadJson&) {
    return {};  // damaged: treated as missing
  }
}

void write_origin(const fs::path& file, const Origin& origin) {
  const nlohmann::ordered_json json = {
      {"url", origin.url}, {"validator", origin.validator}, {"total", origin.total}};
  // This alters a validator that is not UTF-8, so that it matches no answer and the download
  // restarts.
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  write_file(origin_file(file), text + "\n");
}

/// X.part: what has arrived of X so far. Held by one process at a time.
class Part {
 public:
  explicit Part(const fs::path& file) : file_(file), part_(with_suffix(file, ".part")) {
    out_.reset(std::fopen(part_.c_str(), "ab"));
    if (!out_) fail_os("cannot create " + part_.string(), errno);
    if (!lock_file(::fileno(out_.get()))) {
      fail("{} is being downloaded already; wait for that to end", file_.string());
    }
    std::setvbuf(out_.get(), nullptr, _IONBF, 0);  // reports a full disk at once
    size_ = static_cast<std::int64_t>(fs::file_size(part_));
    origin_ = read_origin(file_);
  }
  ~Part() {
    if (!out_ || size_ > 0) return;
    std::error_code ignored;
    fs::remove(part_, ignored);
    fs::remove(origin_file(file_), ignored);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  std::int64_t size() const { return size_; }
  const Origin& origin() const { return origin_; }
  bool is_complete() const { return origin_.total > 0 && size_ == origin_.total; }

  /// Discards all bytes; those that follow come from `origin`.
  void restart(Origin origin) {
    // In this order, so that bytes never lie beside the description of another version.
    if (::ftruncate(::fileno(out_.get()), 0) != 0) cannot_write();
    size_ = 0;
    origin_ = std::move(origin);
    write_origin(file_, origin_);
  }
  void append(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), out_.get()) != bytes.size()) cannot_write();
    size_ += static_cast<std::int64_t>(bytes.size());
  }
  /// Gives the complete file its name.
  void commit() {
    if (::fsync(::fileno(out_.get())) != 0) cannot_write();
    std::error_code error;
    fs::rename(part_, file_, error);
    if (error) fail_os("cannot rename " + part_.string(), error.value());
    sync_folder(fs::absolute(file_).parent_path());
    out_.reset();
  }

 private:
  [[noreturn]] void cannot_write() const { fail_os("cannot write " + part_.string(), errno); }

  fs::path file_;
  fs::path part_;
  File out_;
  std::int64_t size_ = 0;
  Origin origin_;
};

/// One request. What arrives goes to the part, once it is certain that it belongs there.
class Transfer {
 public:
  Transfer(const Address& address, const DownloadOptions& options, Part& part);

  /// True when the part is complete, false when it is useless and must be dropped. Throws
  /// BrokenTransfer or Error.
  bool run();

 private:
  enum class Answer { kNone, kBody, kStale, kRefused };

  template <class T>
  void set(CURLoption option, T value) {
    CURNM_ASSERT(curl_easy_setopt(curl_.get(), option, value) == CURLE_OK);
  }
  void request_rest();
  static std::size_t on_data(char* data, std::size_t, std::size_t count, void* transfer);
  bool receive(std::string_view bytes);
  Answer classify();
  bool continues_part() const;
  long status() const;
  std::string header(const char* name) const;
  std::string validator() const;
  [[noreturn]] void fail_refused() const;
  [[noreturn]] void fail_broken(CURLcode code) const;

  const Address& address_;
  const DownloadOptions& options_;
  Part& part_;
  bool resuming_ = false;
  Answer answer_ = Answer::kNone;
  std::exception_ptr thrown_;  // by our callback, inside libcurl
  std::array<char, CURL_ERROR_SIZE> reason_{};
  std::unique_ptr<curl_slist, CDeleter<curl_slist_free_all>> headers_;
  std::unique_ptr<CURL, CDeleter<curl_easy_cleanup>> curl_;
};

Transfer::Transfer(const Address& address, const DownloadOptions& options, Part& part)
    : address_(address), options_(options), part_(part) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  curl_.reset(curl_easy_init());
  if (ready != CURLE_OK || !curl_) fail("libcurl cannot be initialised");
  set(CURLOPT_URL, address.url.c_str());
  set(CURLOPT_USERAGENT, "curnm");
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 10L);
  set(CURLOPT_NOSIGNAL, 1L);  // this is a library
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, 100L);  // bytes per second
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count()));
  set(CURLOPT_ERRORBUFFER, reason_.data());
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_data);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's
  if (address.is_local) set(CURLOPT_PROXY, "");
  request_rest();
}

/// Only if the server can be asked for the rest of the same version.
void Transfer::request_rest() {
  const Origin& origin = part_.origin();
  resuming_ = part_.size() > 0 && origin.url == address_.url && !origin.validator.empty();
  if (!resuming_) return;
  // Not CURLOPT_RESUME_FROM: to that, a server that sends the whole file instead is an error.
  set(CURLOPT_RANGE, fmt::format("{}-", part_.size()).c_str());
  headers_.reset(curl_slist_append(nullptr, ("If-Range: " + origin.validator).c_str()));
  set(CURLOPT_HTTPHEADER, headers_.get());
}

bool Transfer::run() {
  const CURLcode code = curl_easy_perform(curl_.get());
  if (thrown_) std::rethrow_exception(thrown_);
  if (code == CURLE_OK && answer_ == Answer::kNone) answer_ = classify();  // there was no body
  if (answer_ == Answer::kStale) return false;
  if (answer_ == Answer::kRefused) fail_refused();
  if (code != CURLE_OK) fail_broken(code);
  // A server may send less than the rest that was asked for.
  if (part_.origin().total > 0 && !part_.is_complete()) fail_broken(CURLE_PARTIAL_FILE);
  return true;
}

std::size_t Transfer::on_data(char* data, std::size_t, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  try {
    return self.receive({data, count}) ? count : 0;
  } catch (...) {
    self.thrown_ = std::current_exception();
    return 0;
  }
}

/// False to end the transfer.
bool Transfer::receive(std::string_view bytes) {
  if (answer_ == Answer::kNone) answer_ = classify();
  if (answer_ != Answer::kBody) return false;
  part_.append(bytes);
  if (options_.progress) options_.progress(part_.size(), part_.origin().total);
  return true;
}

/// Classifies the answer by its headers and prepares the part for its body.
Transfer::Answer Transfer::classify() {
  const long code = status();
  if (code == 200) {
    curl_off_t length = -1;
    curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    part_.restart({address_.url, validator(), std::max<std::int64_t>(length, 0)});
    return Answer::kBody;
  }
  if (resuming_ && code == 206) return continues_part() ? Answer::kBody : Answer::kStale;
  if (resuming_ && code == 416) return Answer::kStale;
  return Answer::kRefused;
}

/// -1 where there is none.
std::int64_t number_behind(char mark, const std::string& text) {
  std::int64_t number = -1;
  const std::size_t at = text.find(mark);
  if (at != std::string::npos) {
    std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  }
  return number;
}

/// Some servers ignore If-Range, so the answer has to prove that it is of the same version.
bool Transfer::continues_part() const {
  const Origin& origin = part_.origin();
  const std::string range = header("Content-Range");  // bytes first-last/total, or * for total
  const std::int64_t first = number_behind(' ', range);
  const std::int64_t total = number_behind('/', range);
  const std::string version = validator();
  return first == part_.size() && (version.empty() || version == origin.validator) &&
         (total < 0 || origin.total <= 0 || total == origin.total);
}

long Transfer::status() const {
  long code = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::string Transfer::header(const char* name) const {
  constexpr int kLastRequest = -1;  // after all redirections
  curl_header* found = nullptr;
  const CURLHcode code =
      curl_easy_header(curl_.get(), name, /*index=*/0, CURLH_HEADER, kLastRequest, &found);
  return code == CURLHE_OK ? found->value : "";
}

std::string Transfer::validator() const {
  const std::string tag = header("ETag");
  const bool is_exact = !tag.empty() && !tag.starts_with("W/");
  return is_exact ? tag : header("Last-Modified");
}

void Transfer::fail_refused() const {
  const long code = status();
  if (code == 408 || code == 429 || code >= 500) {
    throw BrokenTransfer(fmt::format(
        "{}: the server has a problem (HTTP status {}); try again later", address_.url, code));
  }
  fail(
      "{}: the server does not give the file out (HTTP status {}); name another address with --url,"
      " or download it by hand and use `curnm import`",
      address_.url, code);
}

void Transfer::fail_broken(CURLcode code) const {
  const char* reason = reason_[0] != '\0' ? reason_.data() : curl_easy_strerror(code);
  const bool reached = answer_ != Answer::kNone || code == CURLE_GOT_NOTHING ||
                       code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
                       code == CURLE_OPERATION_TIMEDOUT;
  if (!reached) {
    fail("cannot get {}: {}; check the connection, or name another address with --url",
         address_.url, reason);
  }
  const std::int64_t total = part_.origin().total;
  throw BrokenTransfer(
      fmt::format("{}: the transfer ended early, {} of {} bytes are here ({}); run it again to {}",
                  address_.url, part_.size(), total > 0 ? std::to_string(total) : "unknown", reason,
                  part_.origin().validator.empty() ? "start over" : "get the rest"));
}

std::string url_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_URLDECODE) != CURLUE_OK) return {};
  return std::unique_ptr<char, CDeleter<curl_free>>(text).get();
}

}  // namespace

Address parse_address(const std::string& url) {
  const std::unique_ptr<CURLU, CDeleter<curl_url_cleanup>> parsed(curl_url());
  const bool valid = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = url_part(parsed.get(), CURLUPART_SCHEME);
  if (!valid || (scheme != "http" && scheme != "https")) {
    throw UsageError(
        fmt::format("'{}' is not an address that starts with http:// or https://", url));
  }
  const std::string host = url_part(parsed.get(), CURLUPART_HOST);
  const std::string file = fs::path(url_part(parsed.get(), CURLUPART_PATH)).filename().string();
  return {.url = url,
          .file = file == "." || file == ".." ? "" : file,
          .is_local = host == "localhost" || host == "[::1]" || host.starts_with("127.")};
}

bool is_downloaded(const Address& address, const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && read_origin(file).url == address.url;
}

void remove_download(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
  fs::remove(origin_file(file), ignored);
}

void download(const Address& address, const fs::path& file, const DownloadOptions& options) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) fail("cannot create {}: {}", file.parent_path().string(), error.message());
  Part part(file);
  fs::remove(file, error);  // of another address: X.origin can describe only one
  if (part.is_complete() && part.origin().url == address.url) return part.commit();
  for (int failures = 0;;) {
    try {
      if (Transfer(address, options, part).run()) return part.commit();
      part.restart({});
    } catch (const BrokenTransfer&) {
      if (++failures > options.retries) throw;
      std::this_thread::sleep_for(options.retry_delay * failures);
    }
  }
}

}  // namespace curnm
