#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace curnm::testing {

/// Checks documents against the part of JSON Schema that docs/schemas uses. Any other keyword is an
/// error, so that none is silently without effect.
class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

  /// What is wrong with the document, and where: "/test/random/ap: 1.5 is above 1". "" if nothing.
  std::string error(const nlohmann::json& document) const { return check(root_, document, ""); }

 private:
  using json = nlohmann::json;

  static bool is_type(const std::string& type, const json& value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    return type == "null" && value.is_null();
  }

  std::string check(const json& schema, const json& value, const std::string& at) const {
    static const std::set<std::string> kRemarks = {"$schema", "title", "description", "$defs"};
    for (const auto& [keyword, wanted] : schema.items()) {
      if (kRemarks.contains(keyword) || keyword == "properties") continue;
      const std::string wrong = check_keyword(keyword, wanted, schema, value, at);
      if (!wrong.empty()) return wrong;
    }
    if (!value.is_object() || !schema.contains("properties")) return "";
    for (const auto& [name, part] : schema["properties"].items()) {
      if (!value.contains(name)) continue;
      const std::string wrong = check(part, value[name], at + "/" + name);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_keyword(const std::string& keyword, const json& wanted, const json& schema,
                            const json& value, const std::string& at) const {
    const auto wrong = [&](const std::string& what) { return at + ": " + what; };
    if (keyword == "$ref") {
      return check(root_.at(json::json_pointer(wanted.get<std::string>().substr(1))), value, at);
    }
    if (keyword == "type") {
      const json types = wanted.is_array() ? wanted : json::array({wanted});
      const bool fits = std::any_of(types.begin(), types.end(),
                                    [&](const json& type) { return is_type(type, value); });
      return fits ? "" : wrong(value.dump() + " is not of type " + wanted.dump());
    }
    if (keyword == "const") return value == wanted ? "" : wrong("is not " + wanted.dump());
    if (keyword == "enum") {
      const bool known = std::find(wanted.begin(), wanted.end(), value) != wanted.end();
      return known ? "" : wrong(value.dump() + " is not among " + wanted.dump());
    }
    if (keyword == "minimum") {
      return value.is_number() && value < wanted ? wrong(value.dump() + " is below") : "";
    }
    if (keyword == "maximum") {
      return value.is_number() && value > wanted ? wrong(value.dump() + " is above") : "";
    }
    if (keyword == "minLength" || keyword == "maxLength") {
      if (!value.is_string()) return "";
      const auto length = value.get<std::string>().size();
      const auto limit = wanted.get<std::size_t>();
      const bool fits = keyword == "minLength" ? length >= limit : length <= limit;
      return fits ? "" : wrong(value.dump() + " has another length");
    }
    if (keyword == "required") {
      for (const json& name : wanted) {
        if (value.is_object() && !value.contains(name.get<std::string>())) {
          return wrong(name.dump() + " is missing");
        }
      }
      return "";
    }
    if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        const std::string inner = check(wanted, value[i], at + "/" + std::to_string(i));
        if (!inner.empty()) return inner;
      }
      return "";
    }
    if (keyword == "additionalProperties") {
      if (!value.is_object()) return "";
      for (const auto& [name, part] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(name)) continue;
        if (wanted.is_boolean() && !wanted.get<bool>()) return wrong("'" + name + "' is unknown");
        if (wanted.is_boolean()) continue;
        const std::string inner = check(wanted, part, at + "/" + name);
        if (!inner.empty()) return inner;
      }
      return "";
    }
    return wrong("this checker does not know the keyword " + keyword);
  }

  json root_;
};

}  // namespace curnm::testing
