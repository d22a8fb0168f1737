#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/names.h"
#include "curnm/base/options.h"

namespace curnm {

/// A named set of options to start from; options given explicitly override it.
struct Preset {
  std::string name;
  std::string summary;
  GivenOptions options = {};
};

/// What is known about a model, decoder or miner without creating one.
struct Component {
  std::string name;
  std::string summary;
  Options defaults = {};             // its own struct of options
  std::vector<Preset> presets = {};  // the first is the default
  GivenOptions run_defaults = {};    // what a run with it starts from, of other options
};

/// The components of a kind by name: the built-in ones and those that a program using the library
/// adds.
///
/// An explicit list survives static linking, and it is the table of contents that help texts and
/// errors print. Not synchronised: add components before looking any up.
template <class Entry>
class Registry {
 public:
  Registry(std::string kind, std::vector<Entry> entries)
      : kind_(std::move(kind)), entries_(entries.begin(), entries.end()) {}

  /// Throws Error if the name is taken or empty. References to entries stay valid.
  void add(Entry entry) {
    if (entry.name.empty()) fail("a {} needs a name", kind_);
    for (const Entry& known : entries_) {
      if (known.name == entry.name) {
        fail("there is a {} named '{}' already: give yours another name", kind_, entry.name);
      }
    }
    entries_.push_back(std::move(entry));
  }

  /// Throws UsageError, with the nearest name, for an unknown one.
  const Entry& at(std::string_view name) const {
    std::vector<std::string_view> known;
    for (const Entry& entry : entries_) {
      if (entry.name == name) return entry;
      known.push_back(entry.name);
    }
    unknown_name(kind_, name, known);
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const Entry& entry : entries_) all.push_back(entry.name);
    return all;
  }

 private:
  std::string kind_;
  std::deque<Entry> entries_;
};

}  // namespace curnm
