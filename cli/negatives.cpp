#include "cli/commands.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/process.h"
#include "curnm/base/parallel.h"
#include "curnm/data/open.h"
#include "curnm/evaluation/ranking_negatives.h"

namespace curnm::cli {
namespace {

struct NegativesOptions {
  RankedPart part = RankedPart::kTest;
  std::int64_t per_event = 20;
  std::uint64_t seed = 0;

  void fields(const FieldVisitor& visit) {
    visit({.name = "part", .help = "whose events are ranked"}, part);
    visit({.name = "per-event",
           .help = "negatives of an event: half of them former partners of its source, the others "
                   "nodes that it never met",
           .min = 1,
           .max = 1e6},
          per_event);
    visit({.name = "seed", .help = "of the draws", .min = 0}, seed);
  }
};

struct NegativesFlags {
  std::string data;
  std::string out;
  GivenOptions given;  // of the draw
  GivenOptions split;
  GivenOptions read;
  std::int64_t threads = 0;
};

void run_negatives(const NegativesFlags& flags) {
  NegativesOptions options;
  set_given(flags.given, options);
  TaskOptions task_options;
  set_given(flags.split, task_options);
  refuse_idle(flags.split, task_options);
  set_num_threads(thread_count(flags.threads));
  Dataset dataset = open_dataset(flags.data, read_options(flags.read));
  print_notes(dataset);
  const LinkTask task(std::move(dataset), task_options);
  const RankingNegatives negatives =
      draw_ranking_negatives(task, options.part, options.per_event, options.seed);
  write_ranking_negatives(flags.out, task, negatives);
  std::int64_t all = 0;
  std::int64_t fewer = 0;
  for (std::int64_t i = 0; i < negatives.size(); ++i) {
    const std::int64_t count = std::ssize(negatives.of(i));
    all += count;
    fewer += count < negatives.per_event ? 1 : 0;
  }
  if (fewer > 0) {
    say("note: {} events have fewer than {} negatives: there are no more destinations\n",
        grouped(fewer), negatives.per_event);
  }
  fmt::print("{} negatives of {} {} events in {}\n", grouped(all), grouped(negatives.size()),
             name_of(negatives.part), flags.out);
}

}  // namespace

void add_negatives(CLI::App& app) {
  auto flags = std::make_shared<NegativesFlags>();
  CLI::App* command = app.add_subcommand(
      "negatives", "Draw the destinations that true ones are ranked among, for `eval --negatives`");
  command->add_option("data", flags->data, "imported folder, raw network, or synthetic[:preset]")
      ->required();
  command->add_option("--out", flags->out, "file to write (csv)")->required();
  add_read_flags(*command, flags->read);
  NegativesOptions defaults;
  add_fields(*command, defaults, flags->given);
  // The others decide what is trained on and how a test proceeds, not which events there are.
  TaskOptions task_defaults;
  add_fields(*command, task_defaults, flags->split, kTaskGroup,
             {"split", "validation-from", "test-from", "boundary", "lookahead"});
  command->add_option("--threads", flags->threads, "0: OMP_NUM_THREADS or all cores");
  command->callback([flags] { run_negatives(*flags); });
}

}  // namespace curnm::cli
