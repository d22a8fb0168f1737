#include "cli/fetch.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"

namespace curnm::cli {
namespace {

struct FetchFlags {
  std::string name;
  std::string out;
  std::string url;
  std::string from;
  std::string cache;
  std::int64_t unpack_limit = 0;
  bool force = false;
};

/// A bar that is redrawn in place, at most ten times a second; nothing unless stderr is a terminal.
class DownloadBar {
 public:
  void operator()(std::int64_t received, std::int64_t total) {
    if (!visible_ || (watch_.seconds() < next_ && received != total)) return;
    next_ = watch_.seconds() + 0.1;
    constexpr double kMega = 1e6;
    const double rate = static_cast<double>(received) / kMega / std::max(watch_.seconds(), 1e-3);
    if (total <= 0) {
      say("\r{:.1f} MB, {:.1f} MB/s ", static_cast<double>(received) / kMega, rate);
      return;
    }
    constexpr std::size_t kWidth = 30;
    const double share = static_cast<double>(received) / static_cast<double>(total);
    const auto full = static_cast<std::size_t>(share * kWidth);
    say("\r[{}{}] {:3.0f} % of {:.1f} MB, {:.1f} MB/s ", std::string(full, '#'),
        std::string(kWidth - full, '.'), 100 * share, static_cast<double>(total) / kMega, rate);
    if (received == total) say("\n");
  }

 private:
  bool visible_ = ::isatty(STDERR_FILENO) == 1;
  Stopwatch watch_;
  double next_ = 0;
};

void run_fetch(const FetchFlags& flags) {
  const CatalogEntry& entry = find_network(flags.name);
  const std::string out = flags.out.empty() ? fmt::format("data/{}", entry.name) : flags.out;
  check_target(out, flags.force);  // before a long download
  const Dataset dataset = fetch_with_bar(entry, {.cache = flags.cache,
                                                 .url = flags.url,
                                                 .file = flags.from,
                                                 .unpack = {.bytes = flags.unpack_limit}});
  save_dataset(dataset, out, flags.force);
  print_saved(dataset, out);
}

}  // namespace

std::string default_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/curnm";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.cache/curnm";
}

Dataset fetch_with_bar(const CatalogEntry& entry, FetchOptions options) {
  options.download.progress = DownloadBar();
  Dataset dataset = fetch_network(entry, options);
  print_notes(dataset);
  return dataset;
}

void add_fetch(CLI::App& app) {
  auto flags = std::make_shared<FetchFlags>();
  flags->cache = default_cache();
  CLI::App* command = app.add_subcommand("fetch", "Download one of the paper's networks");
  std::string names;
  for (const CatalogEntry& entry : catalog()) names += fmt::format("{} ", entry.name);
  command->add_option("name", flags->name, names)->required();
  command->add_option("--out", flags->out, "folder to write (default: data/NAME)");
  command->add_option("--url", flags->url, "another address of the same file");
  command->add_option("--from", flags->from, "the file, where it is there already");
  command->add_option("--cache", flags->cache, "folder of the downloads")->capture_default_str();
  command
      ->add_option("--unpack-limit", flags->unpack_limit,
                   "bytes that an archive may unpack to; 0: 50 times its size, at least 256 MB")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 50))
      ->capture_default_str();
  command->add_flag("--force", flags->force, "replace an existing data set");
  command->callback([flags, command] {
    if (!flags->from.empty()) refuse_flags(*command, {"--url"}, "a file that is there already");
    run_fetch(*flags);
  });
}

}  // namespace curnm::cli
