#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <typeinfo>
#include <vector>

#include "curnm/base/error.h"

namespace curnm::testing {

/// Does body() throw an `Expected` whose message has all the parts? To be used as
///
///   EXPECT_TRUE(fails([&] { read_network(file); }, {"edges.csv:2", "time 'x' is not a number"}));
template <class Expected = Error, class Body>
::testing::AssertionResult fails(const Body& body, const std::vector<std::string>& parts) {
  try {
    body();
  } catch (const Expected& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      if (message.find(part) == std::string::npos) {
        return ::testing::AssertionFailure()
               << "\"" << part << "\" is not in \"" << message << "\"";
      }
    }
    return ::testing::AssertionSuccess();
  } catch (const std::exception& other) {
    return ::testing::AssertionFailure()
           << "another exception, " << typeid(other).name() << ": " << other.what();
  }
  return ::testing::AssertionFailure() << "no exception";
}

/// The message of the Error that body() throws; "" if it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace curnm::testing
