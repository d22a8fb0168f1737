#pragma once

#include <string>
#include <string_view>

namespace curnm {

/// Names this process on this machine, unlike any other before or after it.
std::string this_process();

/// Whether a process of that name still runs. One of another machine is taken to.
bool still_runs(std::string_view process);

}  // namespace curnm
