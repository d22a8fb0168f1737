#pragma once

#include <pybind11/pybind11.h>

#include <nlohmann/json.hpp>

namespace curnm::python {

/// Dictionaries, lists and numbers, as Python's own parser would make them. REQUIRES: the GIL.
inline pybind11::object to_python(const nlohmann::ordered_json& json) {
  namespace py = pybind11;
  switch (json.type()) {
    case nlohmann::detail::value_t::object: {
      py::dict found;
      for (const auto& [key, value] : json.items()) found[py::str(key)] = to_python(value);
      return found;
    }
    case nlohmann::detail::value_t::array: {
      py::list found;
      for (const auto& value : json) found.append(to_python(value));
      return found;
    }
    case nlohmann::detail::value_t::string:
      return py::str(json.get<std::string>());
    case nlohmann::detail::value_t::boolean:
      return py::bool_(json.get<bool>());
    case nlohmann::detail::value_t::number_float:
      return py::float_(json.get<double>());
    case nlohmann::detail::value_t::number_unsigned:
      return py::int_(json.get<std::uint64_t>());
    case nlohmann::detail::value_t::number_integer:
      return py::int_(json.get<std::int64_t>());
    default:
      return py::none();
  }
}

}  // namespace curnm::python
