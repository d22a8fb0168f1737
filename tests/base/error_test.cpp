#include "curnm/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <type_traits>

#include "support/errors.h"

namespace curnm {
namespace {

using testing::fails;

TEST(ErrorTest, AFullDiskIsAnErrorOfItsOwn) {
  EXPECT_TRUE(fails<DiskFull>([] { fail_os("cannot write x", ENOSPC); },
                              {"cannot write x: No space left on device"}));
  EXPECT_TRUE(fails<DiskFull>([] { fail_os("cannot write x", EDQUOT); }, {"cannot write x: "}));
  try {
    fail_os("cannot open y", ENOENT);
  } catch (const DiskFull&) {
    ADD_FAILURE() << "no such file is no full disk";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot open y: No such file or directory");
  }
}

TEST(ErrorTest, KindsAreToldApartByType) {
  static_assert(std::is_base_of_v<UsageError, OptionError>);
  static_assert(std::is_base_of_v<Error, DiskFull> && !std::is_base_of_v<UsageError, DiskFull>);
  static_assert(std::is_base_of_v<Error, UnusableRun>);
  const OptionError error(OptionError::Kind::kConflict, "pool", "--pool and --tau");
  EXPECT_EQ(error.kind(), OptionError::Kind::kConflict);
  EXPECT_EQ(error.option(), "pool");
  EXPECT_STREQ(error.what(), "--pool and --tau");
}

TEST(ErrorTest, OurOwnMistakesAreNoErrorsOfTheUser) {
  EXPECT_THROW(CURNM_ASSERT(1 + 1 == 3), std::logic_error);
  EXPECT_NO_THROW(CURNM_ASSERT(1 + 1 == 2));
}

}  // namespace
}  // namespace curnm
