#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "curnm/report/sheets.h"

// The parts that every HTML page is made of.

namespace curnm {

/// A part of the page that the contents name.
struct Section {
  std::string id;
  std::string heading;
  std::string body;
  std::vector<Section> parts = {};
};

/// A page that needs nothing else. `style`: further rules after those of all pages.
std::string page(std::string_view title, std::string_view lead, const std::string& style,
                 const std::string& body);
/// The same with contents at the top.
std::string page(std::string_view title, std::string_view lead, const std::string& style,
                 const std::vector<Section>& sections);

/// A table with its caption; empty if it has no rows.
std::string figure_of(const Sheet& sheet);
/// A chart with its caption.
std::string figure(std::string_view title, std::string_view caption, const std::string& body);
/// Charts side by side; empty if there are none.
std::string figures(const std::string& body);
std::string notes_list(const std::vector<std::string>& notes);

}  // namespace curnm
