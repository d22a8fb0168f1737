#include "curnm/distributed/launch.h"

#include <array>
#include <charconv>

namespace curnm {
namespace {

constexpr int kMostRanks = 4096;
constexpr int kMostPorts = 65535;

/// What launchers call rank and number of ranks.
struct Launcher {
  const char* rank;
  const char* size;
};
// In a batch script of SLURM, outside of srun, there is a SLURM_PROCID, but no step.
constexpr std::array<Launcher, 4> kLaunchers = {{{"RANK", "WORLD_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"}}};

int number(const char* name, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    fail<UsageError>("the environment has {}={}, and a whole number from {} to {} was expected",
                     name, text, least, most);
  }
  return value;
}

std::string text_of(const Environ& environ, const char* name) {
  const char* text = environ(name);
  return text == nullptr ? "" : text;
}

/// Where rank 0 listens, as the launcher says or implies.
void find_address(const Environ& environ, Placement& placement) {
  placement.address = text_of(environ, "MASTER_ADDR");
  if (placement.address.empty())
    placement.address = first_host(text_of(environ, "SLURM_STEP_NODELIST"));
  const std::string port = text_of(environ, "MASTER_PORT");
  const std::string job = text_of(environ, "SLURM_JOB_ID");
  if (!port.empty()) {
    placement.port = number("MASTER_PORT", port, 1, kMostPorts);
  } else if (!job.empty()) {
    constexpr int kFirst = 20000;  // below the ports that systems give to clients
    constexpr int kPorts = 10000;
    placement.port = kFirst + number("SLURM_JOB_ID", job, 0, 2'000'000'000) % kPorts;
  }
  if (placement.address.empty() || placement.port == 0) {
    fail<UsageError>(
        "this is rank {} of {}, but the environment does not say where rank 0 is: set {}",
        placement.rank, placement.size,
        placement.address.empty() ? "MASTER_ADDR to the address of its host, and MASTER_PORT"
                                  : "MASTER_PORT to a free port of its host");
  }
}

}  // namespace

std::string first_host(const std::string& hosts) {
  const std::size_t bracket = hosts.find('[');
  const std::size_t comma = hosts.find(',');
  if (bracket == std::string::npos || comma < bracket) return hosts.substr(0, comma);
  const std::size_t end = hosts.find_first_of(",-]", bracket);
  const std::size_t close = hosts.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos) return "";
  const std::size_t rest_end = hosts.find(',', close);
  const std::size_t rest = rest_end == std::string::npos ? hosts.size() : rest_end;
  return hosts.substr(0, bracket) + hosts.substr(bracket + 1, end - bracket - 1) +
         hosts.substr(close + 1, rest - close - 1);
}

std::optional<Placement> placement_by_launcher(const Environ& environ) {
  for (const Launcher& launcher : kLaunchers) {
    const std::string rank = text_of(environ, launcher.rank);
    const std::string size = text_of(environ, launcher.size);
    if (size.empty() || (rank.empty() && &launcher != kLaunchers.data())) continue;
    Placement placement{.size = number(launcher.size, size, 1, kMostRanks)};
    if (placement.size == 1) return std::nullopt;
    if (rank.empty()) {
      fail<UsageError>("the environment has {}={}, but no {}: which of them is this process?",
                       launcher.size, size, launcher.rank);
    }
    placement.rank = number(launcher.rank, rank, 0, placement.size - 1);
    find_address(environ, placement);
    placement.store_of_launcher = text_of(environ, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    placement.attempt = text_of(environ, "TORCHELASTIC_RESTART_COUNT");
    return placement;
  }
  return std::nullopt;
}

}  // namespace curnm
