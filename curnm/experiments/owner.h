#pragma once

#include <string>
#include <string_view>

namespace curnm {

/// Names this process, unlike any other before or after it.
std::string this_process();

/// Whether a process of that name still runs. None of another machine does, nor from before a
/// restart: a store is for one machine.
bool still_runs(std::string_view process);

}  // namespace curnm
