#pragma once

#include <string>
#include <string_view>

namespace curnm {

/// A unique name of this process, never used by another.
std::string this_process();

/// Whether a process of that name still runs. False for processes of another machine or from before
/// a reboot: a store is for one machine.
bool still_runs(std::string_view process);

}  // namespace curnm
