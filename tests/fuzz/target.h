#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/data/dataset.h"
#include "support/datasets.h"
#include "support/npy_writer.h"
#include "support/temporary_folder.h"

// What the fuzz targets share. The property is always the same: bytes give a well-formed result or
// curnm::Error. Everything else ends the process and is a finding.

namespace curnm::fuzz {

/// What each target defines and libFuzzer, or replay.cpp, calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

[[noreturn]] inline void finding(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

inline void require(bool condition, const std::string& what) {
  if (!condition) finding(what);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The folder of this process; each input overwrites the files of the one before.
inline const testing::TemporaryFolder& workspace() {
  static const testing::TemporaryFolder folder;
  return folder;
}

/// Inputs that stand for several files: exactly `count` parts, divided by a line of '='. What is
/// missing is empty; the last part keeps all that is left.
inline std::vector<std::string_view> parts_of(std::string_view input, std::size_t count) {
  constexpr std::string_view kDivider = "\n=====\n";
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const std::size_t end = input.find(kDivider);
    parts.push_back(input.substr(0, end));
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + kDivider.size());
  }
  parts.push_back(input);
  return parts;
}

/// Writes a file of the workspace, or removes it when there are no bytes for it.
inline void write_part(const std::filesystem::path& name, std::string_view bytes) {
  if (bytes.empty()) {
    std::filesystem::remove(workspace() / name);
  } else {
    workspace().write(name, bytes);
  }
}

/// The bytes of a feature file. After '@' follow the width in one byte and then the values, so that
/// a mutation need not keep a header consistent; anything else is taken as it is.
inline std::string feature_bytes(std::string_view part) {
  if (!part.starts_with('@') || part.size() < 2) return std::string(part);
  const std::int64_t width = 1 + static_cast<unsigned char>(part[1]) % 8;
  const std::string_view values = part.substr(2);
  const std::int64_t rows = static_cast<std::int64_t>(values.size()) / (4 * width);
  return testing::npy_file(
      {.shape = "(" + std::to_string(rows) + ", " + std::to_string(width) + ")"},
      values.substr(0, static_cast<std::size_t>(rows * width * 4)));
}

/// The value of body(), or nothing when it throws Error.
template <class Body>
auto value_or_error(const Body& body) -> std::optional<decltype(body())> {
  try {
    return body();
  } catch (const Error&) {
    return std::nullopt;
  } catch (const std::exception& other) {
    finding(std::string("an exception that is no Error: ") + other.what());
  }
}

/// What was read is well formed, and comes back from the store as it was.
inline void check_dataset(const Dataset& dataset) {
  const std::string wrong = testing::inconsistency(dataset);
  require(wrong.empty(), "the data set contradicts itself: " + wrong);
  const std::filesystem::path stored = workspace() / "stored";
  try {
    save_dataset(dataset, stored, /*force=*/true);
    require(load_dataset(stored).digest() == dataset.digest(), "the stored data set differs");
  } catch (const std::exception& error) {
    finding(std::string("the data set cannot be stored: ") + error.what());
  }
}

template <class Read>
void check_reading(const Read& read) {
  const std::optional<Dataset> dataset = value_or_error(read);
  if (!dataset) return;
  require(dataset->events.size() > 0, "a network without events");
  require(dataset->events.time.front() >= 0, "a negative time");
  check_dataset(*dataset);
}

}  // namespace curnm::fuzz
