#include "cli/fetch.h"

#include <cstdlib>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/progress.h"

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

/// The progress of a download.
class DownloadBar {
 public:
  void operator()(std::int64_t received, std::int64_t total) {
    if (!bar_.is_due(/*last=*/received == total)) return;
    constexpr double kMega = 1e6;
    const double megabytes = static_cast<double>(received) / kMega;
    const std::string rate = fmt::format("{:.1f} MB/s", megabytes / std::max(bar_.seconds(), 1e-3));
    if (total <= 0) return bar_.draw(/*share=*/-1, fmt::format("{:.1f} MB, {}", megabytes, rate));
    bar_.draw(static_cast<double>(received) / static_cast<double>(total),
              fmt::format("of {:.1f} MB, {}", static_cast<double>(total) / kMega, rate));
    if (received == total) bar_.end();
  }

 private:
  ProgressBar bar_;
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
