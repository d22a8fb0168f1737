#include "curnm/data/rows.h"
#include "fuzz/target.h"
#include "support/gzip_writer.h"

// Texts, compressed and not. After 'z' and two bytes follows a text that is compressed here: it
// comes back as it was or is refused as no text, and cut short (where the two bytes say) it is
// refused. Everything else is read as it is.

namespace curnm::fuzz {
namespace {

std::optional<std::string> read_text(std::string_view bytes) {
  const auto path = workspace().write("edges.csv", bytes);
  const auto first_line = value_or_error([&] { return TextFile::first_line(path); });
  const auto text = value_or_error([&] {
    TextFile file(path);
    std::string whole;
    for (auto block = file.next_block(); !block.empty(); block = file.next_block()) whole += block;
    return whole;
  });
  if (!text) return text;
  constexpr std::size_t kByteOrderMark = 3;  // may be missing from the first line
  require(first_line && text->find(*first_line) <= kByteOrderMark, "another first line");

  std::size_t rows = 0;
  value_or_error([&] {
    RowReader reader(*text, path);
    while (reader.next()) {
      ++rows;
      require(!reader.fields().empty(), "a row without fields");
    }
    return rows;
  });
  require(rows <= text->size(), "more rows than bytes");
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = text_of(data, size);
  if (!input.starts_with('z') || input.size() < 3) {
    read_text(input);
    return 0;
  }
  const std::string_view text = input.substr(3);
  const std::string whole = testing::gzipped(text);
  const std::optional<std::string> back = read_text(whole);  // or it is no text
  require(!back || *back == text, "the compressed text differs");
  const std::size_t cut =
      2 + (data[1] | static_cast<std::size_t>(data[2]) << 8) % (whole.size() - 2);
  require(!read_text(std::string_view(whole).substr(0, cut)), "a truncated file was read");
  return 0;
}

}  // namespace curnm::fuzz
