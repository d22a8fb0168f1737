#include "curnm/data/foreign.h"

#include <array>
#include <string>

#include "curnm/base/error.h"

namespace curnm {
namespace {

using namespace std::string_view_literals;

struct ForeignKind {
  std::string_view magic;
  std::string_view name;
  /// A call of pandas; or a shell command, where it begins with '!'. {} is the file.
  std::string_view conversion;
};

// The more specific first: xlsx and npz are zip archives.
constexpr std::array kForeignKinds = {
    ForeignKind{"PAR1"sv, "a Parquet file", "read_parquet('{}')"},
    ForeignKind{"ARROW1\0"sv, "an Arrow or Feather file", "read_feather('{}')"},
    ForeignKind{"FEA1"sv, "a Feather file", "read_feather('{}')"},
    ForeignKind{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", "read_hdf('{}')"},
    ForeignKind{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Excel file", "read_excel('{}')"},
    ForeignKind{"\x80\x02"sv, "a pickle", "read_pickle('{}')"},
    ForeignKind{"\x80\x03"sv, "a pickle", "read_pickle('{}')"},
    ForeignKind{"\x80\x04"sv, "a pickle", "read_pickle('{}')"},
    ForeignKind{"\x80\x05"sv, "a pickle", "read_pickle('{}')"},
    ForeignKind{"SQLite format 3\0"sv, "an SQLite database",
                "!sqlite3 -csv -header '{}' 'select * from TABLE' > table.csv"},
    ForeignKind{"\xfd\x37zXZ\0"sv, "an xz file", "!xz -dk '{}'"},
    ForeignKind{"\x04\x22\x4d\x18"sv, "an lz4 file", "!lz4 -dk '{}'"},
    ForeignKind{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "!7z x '{}'"},
    ForeignKind{"\x93NUMPY"sv, "a NumPy array", ""},
};

bool is_excel(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 4096);
  return start.find("[Content_Types].xml") != start.npos || start.find("xl/") != start.npos;
}

[[noreturn]] void refuse(const ForeignKind& kind, const std::filesystem::path& path) {
  const std::string file = path.string();
  if (kind.conversion.empty()) fail("{} is {}, not a table of events", file, kind.name);
  const bool shell = kind.conversion.starts_with('!');
  const std::string call =
      fmt::format(fmt::runtime(shell ? kind.conversion.substr(1) : kind.conversion), file);
  if (shell) fail("{} is {}: convert it with `{}`", file, kind.name, call);
  fail(
      "{} is {}: convert it with `python3 -c \"import pandas; pandas.{}.to_csv('table.csv', "
      "index=False)\"`",
      file, kind.name, call);
}

}  // namespace

void refuse_foreign(std::string_view bytes, const std::filesystem::path& path) {
  // A table may well begin with the letters PAR1, but it has no zero bytes.
  const bool is_binary = bytes.substr(0, 4096).find('\0') != std::string_view::npos;
  for (const ForeignKind& kind : kForeignKinds) {
    const bool letters = kind.magic == "PAR1" || kind.magic == "FEA1";
    if (bytes.starts_with(kind.magic) && (is_binary || !letters)) refuse(kind, path);
  }
  if (bytes.starts_with("PK\x03\x04")) {
    if (is_excel(bytes)) refuse({"", "an Excel file", "read_excel('{}')"}, path);
    refuse({"", "a zip archive", "!unzip '{}'"}, path);
  }
}

}  // namespace curnm
