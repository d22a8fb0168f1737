#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace curnm {

struct DownloadOptions {
  /// Called as bytes arrive; a resumed download starts from the bytes already present. `total` is 0
  /// while unknown. An exception ends the transfer and reaches the caller.
  std::function<void(std::int64_t received, std::int64_t total)> progress = {};
  int retries = 3;  // of a broken transfer, each continuing the last one
  std::chrono::milliseconds retry_delay{1000};  // before the first, twice that before the second
  std::chrono::milliseconds connect_timeout{30'000};
  std::chrono::seconds stall_timeout{60};  // with next to no data
};

struct Address {
  std::string url;
  std::string file;       // the last part of its path; empty when that is not a file name
  bool is_local = false;  // on this machine
};

/// Throws UsageError for anything that is not http or https.
Address parse_address(const std::string& url);

/// Downloads to `file`, which appears when it is complete.
///
/// Until then the bytes are in X.part, and X.origin records which version of the remote file they
/// belong to. The next call resumes a broken transfer, even after a kill, if the server confirms
/// that the version is unchanged; otherwise it starts over. Throws Error when the file is not
/// available and while another thread or process downloads it. Proxies are taken from the
/// environment, as by curl, but are never used for this machine itself.
void download(const Address& address, const std::filesystem::path& file,
              const DownloadOptions& options);

/// Is `file` a complete download from this address?
bool is_downloaded(const Address& address, const std::filesystem::path& file);

/// Removes a complete download and what belongs to it.
void remove_download(const std::filesystem::path& file);

}  // namespace curnm
