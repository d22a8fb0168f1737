#include "curnm/data/dataset.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "fuzz/target.h"
#include "support/stored_dataset.h"

// Stored data sets, in twelve parts: "seal" or anything else, meta.json and the ten columns in
// their order. Sealed, sizes and digests are made right first, so that the checks of the content
// are reached. An absent column is empty, and a column without bytes is '~'.

namespace curnm::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kColumns = std::size(testing::kColumnFiles);
  const auto parts = parts_of(text_of(data, size), 2 + kColumns);
  const auto folder = workspace() / "net";
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::filesystem::path file = std::filesystem::path("net") / testing::kColumnFiles[i];
    if (parts[2 + i] == "~") {
      workspace().write(file, "");
    } else {
      write_part(file, parts[2 + i]);
    }
  }
  std::string text(parts[1]);
  if (parts[0] == "seal") {
    auto meta = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (meta.is_object()) {
      testing::seal(meta, folder);
      text = meta.dump();
    }
  }
  workspace().write("net/meta.json", text);
  const auto dataset = value_or_error([&] { return load_dataset(folder); });
  if (dataset) check_dataset(*dataset);
  return 0;
}

}  // namespace curnm::fuzz
