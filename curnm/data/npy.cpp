#include "curnm/data/npy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "curnm/base/error.h"
#include "curnm/base/files.h"
#include "curnm/base/types.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;

struct Header {
  std::string_view type;  // such as <f4
  bool fortran_order = false;
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::size_t data = 0;  // where the values start
};

/// What follows 'key': in the header's Python dictionary.
std::string_view after_key(std::string_view dictionary, std::string_view key,
                           const fs::path& path) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = dictionary.find(quoted);
  if (at == std::string_view::npos) fail("{}: its header has no {}", path.string(), quoted);
  dictionary.remove_prefix(at + quoted.size());
  dictionary.remove_prefix(std::min(dictionary.find_first_not_of(' '), dictionary.size()));
  return dictionary;
}

std::vector<std::int64_t> parse_shape(std::string_view text, const fs::path& path) {
  std::vector<std::int64_t> shape;
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) {
    fail("{}: its header has no shape", path.string());
  }
  const char* at = text.data() + 1;
  const char* end = text.data() + close;
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t extent = 0;
    const auto parsed = std::from_chars(at, end, extent);
    if (parsed.ec != std::errc() || extent < 0 || extent > std::int64_t{1} << 40) {
      fail("{}: its shape {} is not supported", path.string(), text.substr(0, close + 1));
    }
    shape.push_back(extent);
    at = parsed.ptr;
  }
  return shape;
}

Header parse_header(std::string_view bytes, const fs::path& path) {
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12) {
    fail("{} is not a .npy file", path.string());
  }
  const auto byte_at = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const bool long_length = byte_at(6) >= 2;  // major version
  const std::size_t start = long_length ? 12 : 10;
  const std::size_t length =
      long_length ? byte_at(8) | byte_at(9) << 8 | byte_at(10) << 16 | byte_at(11) << 24
                  : byte_at(8) | byte_at(9) << 8;
  if (bytes.size() < start + length) fail("{} is truncated inside its header", path.string());
  const std::string_view dictionary = bytes.substr(start, length);

  Header header{.data = start + length};
  std::string_view type = after_key(dictionary, "descr", path);
  if (type.size() > 2) header.type = type.substr(1, type.substr(1).find_first_of("'\""));
  header.fortran_order = after_key(dictionary, "fortran_order", path).starts_with("True");
  const std::vector<std::int64_t> shape = parse_shape(after_key(dictionary, "shape", path), path);
  if (shape.empty() || shape.size() > 2) {
    fail("{}: {} dimensions; features have 1 or 2", path.string(), shape.size());
  }
  header.rows = shape[0];
  if (shape.size() == 2) header.columns = shape[1];
  return header;
}

float half_to_float(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto mantissa = static_cast<float>(half & 1023);
  const float sign = half & 0x8000 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * std::ldexp(mantissa, -24)
                       : sign * std::ldexp(mantissa + 1024.0F, exponent - 25);
}

template <class T>
std::vector<float> convert(std::string_view values, std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value;  // the values of a .npy file need not be aligned
    std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(value);
  }
  return out;
}

struct Type {
  std::string_view code;
  std::size_t bytes;
  std::vector<float> (*read)(std::string_view, std::size_t);
};

std::vector<float> convert_half(std::string_view values, std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, values.data() + i * 2, 2);
    out[i] = half_to_float(half);
  }
  return out;
}

constexpr Type kTypes[] = {
    {"<f4", 4, convert<float>},         {"<f8", 8, convert<double>},
    {"<f2", 2, convert_half},           {"<i8", 8, convert<std::int64_t>},
    {"<i4", 4, convert<std::int32_t>},  {"<i2", 2, convert<std::int16_t>},
    {"|i1", 1, convert<std::int8_t>},   {"<u8", 8, convert<std::uint64_t>},
    {"<u4", 4, convert<std::uint32_t>}, {"<u2", 2, convert<std::uint16_t>},
    {"|u1", 1, convert<std::uint8_t>},  {"|b1", 1, convert<std::uint8_t>},
};

std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> out(values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out[static_cast<std::size_t>(r * columns + c)] =
          values[static_cast<std::size_t>(c * rows + r)];
    }
  }
  return out;
}

}  // namespace

FeatureMatrix read_npy(const fs::path& path) {
  const std::string contents = read_file(path);
  const std::string_view bytes = contents;
  const Header header = parse_header(bytes, path);
  const Type* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const Type& t) { return t.code == header.type; });
  if (type == std::end(kTypes)) {
    fail("{}: values of type '{}' are not supported; save them as float32", path.string(),
         header.type);
  }
  const std::size_t available = (bytes.size() - header.data) / type->bytes;
  // Wide: the extents may be anything up to 2^40 each.
  const Wide promised = static_cast<Wide>(header.rows) * static_cast<Wide>(header.columns);
  if (promised != available || (bytes.size() - header.data) % type->bytes != 0) {
    fail("{} is truncated or damaged: its header promises {} x {} values, it has {}", path.string(),
         header.rows, header.columns, available);
  }
  const std::size_t count = available;
  if (count == 0) return {};
  std::vector<float> values = type->read(bytes.substr(header.data), count);
  if (header.fortran_order) values = transposed(values, header.rows, header.columns);
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) {
      fail("{}: row {}, column {} is {}; features must be finite", path.string(),
           i / static_cast<std::size_t>(header.columns),
           i % static_cast<std::size_t>(header.columns), values[i]);
    }
  }
  return {std::move(values), header.columns};
}

std::string npy_header(std::string_view type, std::span<const std::int64_t> shape) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{},", extent);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, extents);
  constexpr std::size_t kBefore = 10;  // magic, version, length
  constexpr std::size_t kUnit = 64;    // values begin at a multiple of it
  header.resize((kBefore + header.size() + 1 + kUnit - 1) / kUnit * kUnit - kBefore, ' ');
  header.back() = '\n';
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xff); };
  return std::string("\x93NUMPY\x01\x00", 8) + byte(header.size()) + byte(header.size() >> 8) +
         header;
}

}  // namespace curnm
