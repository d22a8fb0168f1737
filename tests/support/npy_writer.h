#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace curnm::testing {

struct NpyHeader {
  std::string descr = "<f4";
  std::string shape = "(0, 0)";
  bool fortran_order = false;
  int version = 1;
};

/// A .npy file as numpy writes it: the header is padded with blanks to a multiple of 64 bytes.
inline std::string npy_file(const NpyHeader& header, std::string_view data) {
  std::string dictionary = "{'descr': '" + header.descr +
                           "', 'fortran_order': " + (header.fortran_order ? "True" : "False") +
                           ", 'shape': " + header.shape + ", }";
  const std::size_t start = header.version == 1 ? 10 : 12;
  dictionary.append(63 - (start + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(header.version);
  file += '\0';
  for (std::size_t byte = 0; byte < start - 8; ++byte) {
    file += static_cast<char>(dictionary.size() >> 8 * byte & 255);
  }
  return file.append(dictionary).append(data);
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A matrix of 32-bit floats.
inline std::string npy_matrix(std::int64_t rows, std::int64_t columns,
                              const std::vector<float>& values) {
  return npy_file({.shape = "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")"},
                  raw_bytes(values));
}

}  // namespace curnm::testing
