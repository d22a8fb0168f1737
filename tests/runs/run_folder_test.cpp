#include "curnm/runs/run_folder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "curnm/base/error.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::fails;
using testing::names_in;
using testing::read_bytes;
using testing::write_bytes;

EpochRecord some_record(std::int64_t epoch) {
  EpochRecord record{.epoch = epoch,
                     .losses = {{"positive", 0.1}, {"random", 1.0 / 3.0}},
                     .mining = {{"pi", 0.95}, {"pool_hard", 1e-17}},
                     .validation_ap = 0.75,
                     .best = epoch % 2 == 0,
                     .seconds = 12.5};
  for (std::size_t stage = 0; stage < record.stages.size(); ++stage) {
    record.stages[stage] = 0.25 * static_cast<double>(stage + 1);
  }
  return record;
}

void expect_equal(const EpochRecord& a, const EpochRecord& b) {
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.mining, b.mining);
  EXPECT_EQ(a.validation_ap, b.validation_ap);
  EXPECT_EQ(a.validation_mrr, b.validation_mrr);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.stages, b.stages);
}

TEST(EpochRecordTest, JsonRoundTripIsExact) {
  const EpochRecord record = some_record(3);
  expect_equal(epoch_from_json(ordered_json::parse(to_json(record).dump())), record);
  expect_equal(epoch_from_json(to_json(EpochRecord{})), EpochRecord{});
}

TEST(EpochRecordTest, NamesWhatTheBestEpochIsChosenBy) {
  EpochRecord record = some_record(3);
  EXPECT_EQ(record.selected_by(), "AP");
  EXPECT_EQ(record.selected(), 0.75);
  record.validation_mrr = 0.25;
  EXPECT_EQ(record.selected_by(), "MRR");
  EXPECT_EQ(record.selected(), 0.25);
  expect_equal(epoch_from_json(ordered_json::parse(to_json(record).dump())), record);
  EXPECT_NE(to_json(record).dump().find(R"("validation_ap":0.75,"validation_mrr":0.25,)"),
            std::string::npos);
}

TEST(EpochRecordTest, IsALineThatPeopleCanRead) {
  const EpochRecord record{.epoch = 1,
                           .losses = {{"random", 0.5}},
                           .mining = {{"pi", 1}},
                           .validation_ap = 0.75,
                           .validation = {{"trans", 0.75}}};
  EXPECT_EQ(to_json(record).dump(),
            R"({"epoch":1,"losses":{"random":0.5},"validation_ap":0.75,)"
            R"("validation":{"trans":0.75},"best":false,)"
            R"("mining":{"pi":1.0},"seconds":0.0,"stages":{"propose":0.0,"sample":0.0,)"
            R"("embed":0.0,"mine":0.0,"backward":0.0,"optimise":0.0,"observe":0.0,)"
            R"("validate":0.0}})");
}

// JSON has no NaN: it is written as null, and read as what it was.
TEST(EpochRecordTest, MeasuresMayBeNoNumbers) {
  EpochRecord record = some_record(0);
  record.losses["contrastive"] = std::nan("");
  record.mining["training_auc"] = std::nan("");
  const EpochRecord again = epoch_from_json(ordered_json::parse(to_json(record).dump()));
  EXPECT_TRUE(std::isnan(again.losses.at("contrastive")));
  EXPECT_TRUE(std::isnan(again.mining.at("training_auc")));
  EXPECT_EQ(again.mining.at("pi"), 0.95);
}

TEST(EpochRecordTest, EveryPartMustBeThere) {
  const ordered_json whole = to_json(some_record(2));
  for (const auto& [part, value] : whole.items()) {
    ordered_json without = whole;
    without.erase(part);
    EXPECT_ANY_THROW(epoch_from_json(without)) << part;
    ordered_json odd = whole;
    odd[part] = "text";
    EXPECT_ANY_THROW(epoch_from_json(odd)) << part;
  }
  ordered_json without_stage = whole;
  without_stage["stages"].erase("mine");
  EXPECT_THROW(epoch_from_json(without_stage), nlohmann::json::exception);
  ordered_json odd_loss = whole;
  odd_loss["losses"]["random"] = "low";
  EXPECT_THROW(epoch_from_json(odd_loss), nlohmann::json::exception);
}

TEST(EpochRecordTest, TrainingIsWhatIsNotValidation) {
  EpochRecord record{.seconds = 10};
  record.stages[static_cast<std::size_t>(Stage::kValidate)] = 3;
  record.stages[static_cast<std::size_t>(Stage::kEmbed)] = 5;
  EXPECT_EQ(record.training_seconds(), 7);
  EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::kValidate)], "validate");
  EXPECT_EQ(kStageNames[static_cast<std::size_t>(Stage::kPropose)], "propose");
}

class RunFolderTest : public ::testing::Test {
 protected:
  testing::TemporaryFolder here_;
  RunFolder run_{here_ / "runs" / "one"};
};

TEST_F(RunFolderTest, BeginsWithItsOptions) {
  EXPECT_FALSE(run_.exists());
  EXPECT_FALSE(run_.is_run());
  const ordered_json options = {{"version", "0.1.0"}, {"train", {{"epochs", 3}}}};
  run_.create(options);
  EXPECT_TRUE(run_.exists());
  EXPECT_TRUE(run_.is_run());
  EXPECT_FALSE(run_.is_finished());
  EXPECT_EQ(run_.read_options(), options);
  EXPECT_EQ(names_in(run_.path()), std::vector<std::string>{"options.json"});
  EXPECT_EQ(names_in(here_ / "runs"), std::vector<std::string>{"one"});
}

TEST_F(RunFolderTest, IsNeverOverwritten) {
  run_.create({{"seed", 1}});
  EXPECT_TRUE(fails(
      [&] {
        run_.create({{"seed", 2}});
      },
      {run_.path().string(), "exists already", "--resume"}));
  EXPECT_EQ(run_.read_options()["seed"], 1);
  write_bytes(here_ / "file", "");
  EXPECT_THROW(RunFolder(here_ / "file").create({}), Error);
}

TEST_F(RunFolderTest, SaysWhyThereAreNoOptions) {
  EXPECT_TRUE(fails([&] { run_.read_options(); }, {run_.path().string(), "does not exist"}));
  EXPECT_THROW(run_.read_options(), Error);
  fs::create_directories(run_.path());
  EXPECT_TRUE(fails<UnusableRun>([&] { run_.read_options(); }, {"is not a run", "options.json"}));
  for (const char* content : {"", "{", "\x01", "{\"a\": }"}) {
    write_bytes(run_.options(), content);
    EXPECT_TRUE(fails<UnusableRun>([&] { run_.read_options(); }, {"options.json is damaged"}));
  }
}

TEST_F(RunFolderTest, MetricsAreLinesOfEpochs) {
  run_.create({});
  EXPECT_TRUE(run_.read_metrics().empty());
  EXPECT_EQ(run_.count_epochs(), 0);
  run_.write_metrics({});
  EXPECT_TRUE(run_.read_metrics().empty());
  EXPECT_EQ(run_.count_epochs(), 0);
  const std::vector<EpochRecord> records = {some_record(0), some_record(1), some_record(2)};
  run_.write_metrics(records);
  EXPECT_EQ(run_.count_epochs(), 3);
  const std::vector<EpochRecord> read = run_.read_metrics();
  ASSERT_EQ(read.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_equal(read[i], records[i]);
  run_.write_metrics({some_record(0)});
  EXPECT_EQ(run_.read_metrics().size(), 1u) << "a run that was set back";
  EXPECT_EQ(names_in(run_.path()), (std::vector<std::string>{"metrics.jsonl", "options.json"}));
}

TEST_F(RunFolderTest, DamagedMetricsSayHowToMendThem) {
  run_.create({});
  run_.write_metrics({some_record(0), some_record(1)});
  const std::string whole = read_bytes(run_.metrics());
  const std::string cut = whole.substr(0, whole.size() - 10);
  for (const std::string& content : {cut, whole + "{", whole + "\n", "{}\n" + whole,
                                     std::string("\0\0", 2), std::string("[]")}) {
    write_bytes(run_.metrics(), content);
    EXPECT_TRUE(fails<UnusableRun>(
        [&] { run_.read_metrics(); },
        {"metrics.jsonl is damaged", "curnm train --resume " + run_.path().string()}))
        << content;
  }
  write_bytes(run_.metrics(), whole.substr(0, whole.size() - 1));
  EXPECT_EQ(run_.read_metrics().size(), 2u) << "a last line without an end is whole";
}

TEST_F(RunFolderTest, AResultIsTheEnd) {
  run_.create({});
  const ordered_json result = {{"test", {{"trans", {{"ap", 0.9}}}}}, {"best_epoch", 4}};
  run_.write_result(result);
  EXPECT_TRUE(run_.is_finished());
  EXPECT_EQ(run_.read_result(), result);
  write_bytes(run_.result(), "{\"test\":");
  EXPECT_TRUE(
      fails<UnusableRun>([&] { run_.read_result(); }, {"result.json is damaged", "--resume"}));
  fs::remove(run_.result());
  EXPECT_THROW(run_.read_result(), Error);
}

TEST_F(RunFolderTest, NamesItsFiles) {
  EXPECT_EQ(run_.checkpoint(), run_.path() / "checkpoint");
  EXPECT_EQ(run_.model(), run_.path() / "model");
}

TEST(DamagedRunTest, DeepJsonIsDamageAndNotACrash) {
  const testing::TemporaryFolder here;
  const RunFolder folder(here / "run");
  folder.create({{"version", "x"}});
  const std::string deep = std::string(1'000'000, '[');
  write_bytes(folder.metrics(), deep + "\n");
  write_bytes(folder.result(), deep);
  EXPECT_TRUE(fails<UnusableRun>([&] { folder.read_metrics(); }, {"metrics.jsonl is damaged"}));
  EXPECT_TRUE(fails<UnusableRun>([&] { folder.read_result(); }, {"result.json is damaged"}));
  write_bytes(folder.options(), deep);
  EXPECT_TRUE(fails<UnusableRun>([&] { folder.read_options(); },
                                 {"options.json is damaged", "levels deep"}));
}

TEST(DamagedRunTest, EpochsCountFromZeroWithoutGaps) {
  const testing::TemporaryFolder here;
  const RunFolder folder(here / "run");
  folder.create({{"version", "x"}});
  for (const auto& [first, second] :
       {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 2}, {0, 2}}) {
    folder.write_metrics({some_record(first), some_record(second)});
    EXPECT_TRUE(fails<UnusableRun>([&] { folder.read_metrics(); }, {"metrics.jsonl is damaged"}));
  }
  write_bytes(folder.metrics(), "{\"epoch\": -1e9}\n");
  EXPECT_TRUE(fails<UnusableRun>([&] { folder.read_metrics(); }, {"metrics.jsonl is damaged"}));
}

}  // namespace
}  // namespace curnm
