#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace curnm::testing {

/// What is wrong with the tags of a page, or "": each has to be closed in the order of opening,
/// values of attributes are quoted, and neither text nor values hold < or >.
inline std::string tag_fault(std::string_view page) {
  constexpr std::array<std::string_view, 4> kVoid = {"meta", "input", "wbr", "!DOCTYPE"};
  std::vector<std::string_view> open;
  std::size_t text = 0;  // begins after the tag before
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', text)) {
    if (page.substr(text, at - text).find('>') != page.npos) return "a stray >";
    text = page.find('>', at) + 1;
    if (text == 0) return "a tag without end";
    const std::string_view tag = page.substr(at + 1, text - at - 2);
    if (tag.find('<') != tag.npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0) {
      return "<" + std::string(tag) + "> is no tag";
    }
    const bool closes = tag.starts_with('/');
    const std::size_t from = closes ? 1 : 0;
    const std::string_view name = tag.substr(from, tag.find_first_of(" /", from) - from);
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + std::string(name) + "> closes nothing";
      open.pop_back();
    } else if (!tag.ends_with('/') && std::find(kVoid.begin(), kVoid.end(), name) == kVoid.end()) {
      open.push_back(name);
    }
    if (!closes && (name == "style" || name == "script")) {  // no markup up to its end
      text = page.find("</" + std::string(name) + ">", text);
      if (text == page.npos) return std::string(name) + " stays open";
    }
  }
  if (page.substr(text).find('>') != page.npos) return "a stray >";
  return open.empty() ? "" : std::string(open.back()) + " stays open";
}

}  // namespace curnm::testing
