#pragma once

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace curnm::testing {

/// What is wrong with the tags of a page, or "": each has to be closed in the order of opening, and
/// all attributes quoted. Style and script are taken out before.
inline std::string tag_fault(std::string page) {
  page = std::regex_replace(page, std::regex("<(style|script)>[^]*?</\\1>"), "");
  constexpr std::array<std::string_view, 3> kVoid = {"meta", "input", "!DOCTYPE"};
  const std::regex tag(
      R"re(<(/?)([!a-zA-Z][a-zA-Z0-9]*)((?: [a-zA-Z-]+(?:="[^"<>]*")?| html)*)(/?)>)re");
  std::vector<std::string> open;
  std::size_t brackets = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), tag), end; it != end; ++it) {
    ++brackets;
    const std::string name = (*it)[2];
    if ((*it)[4].length() > 0 || std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end()) {
      continue;
    }
    if ((*it)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  if (brackets != static_cast<std::size_t>(std::count(page.begin(), page.end(), '<'))) {
    return "a < that is no tag";
  }
  return open.empty() ? "" : open.back() + " stays open";
}

}  // namespace curnm::testing
