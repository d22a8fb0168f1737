#include "curnm/experiments/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "curnm/experiments/owner.h"
#include "curnm/experiments/sqlite.h"
#include "support/errors.h"
#include "support/run_results.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using testing::error_of;
using testing::finished_run;

Job job(std::int64_t seed, const std::string& variant = "") {
  return {.network = "uci",
          .model = "tgn",
          .miner = "curnm",
          .seed = seed,
          .flags = {{"epochs", "2"}},
          .variant = variant};
}

class StoreTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "results.db"; }
  ResultStore open() const { return ResultStore(file()); }

  /// As another program would.
  void sql(const char* text) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, text, nullptr, nullptr, &message), SQLITE_OK)
        << (message == nullptr ? "" : message);
    sqlite3_free(message);
    sqlite3_close(database);
  }

  double number(const char* text) const {
    sqlite::Database database(file(), SQLITE_OPEN_READONLY);
    sqlite::Statement statement(database, text);
    return statement.next() ? statement.real(0) : kNoValue;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(StoreTest, KeepsEverythingOfARun) {
  const std::int64_t id = open().add(job(7));
  RunResult written = finished_run();
  open().record(id, written);
  const ResultSet results = open().load();
  ASSERT_EQ(results.runs.size(), 1U);
  const RunResult& read = results.runs[0];
  EXPECT_EQ(read.id, id);
  EXPECT_EQ(read.seed, 7);
  EXPECT_EQ(read.flags, (nlohmann::json{{"epochs", "2"}}));
  EXPECT_EQ(read.state, RunState::kDone);
  EXPECT_EQ(read.folder, written.folder);
  EXPECT_EQ(read.data_digest, written.data_digest);
  EXPECT_EQ(nlohmann::json(read.options), nlohmann::json(written.options));
  EXPECT_EQ(to_json(read.environment), to_json(written.environment));
  EXPECT_EQ(read.best_epoch, 1);
  EXPECT_EQ(read.seconds_per_epoch, 1.5);
  EXPECT_EQ(read.training_events, 1000);
  EXPECT_EQ(find_score(read, "test", "trans", "ap"), 0.875);
  EXPECT_EQ(find_score(read, "test_new", "trans", "ap"), 0.5);
  EXPECT_TRUE(std::isnan(find_score(read, "test", "random", "ap")));
  ASSERT_EQ(read.baselines.size(), 1U);
  EXPECT_EQ(read.baselines[0].name, "recency-src");
  ASSERT_EQ(read.curve.size(), 2U);
  EXPECT_EQ(read.curve[1].validation_ap, 0.7);
  EXPECT_EQ(nlohmann::json::parse(read.curve[1].metrics)["mining.pi"], 0.95);
}

TEST_F(StoreTest, KeepsTheRankingWhereItChoosesTheBestEpoch) {
  const std::int64_t id = open().add(job(0));
  RunResult written = finished_run();
  written.options["train"]["select-on"] = "mrr";
  written.curve[0].metrics = R"({"validation_mrr": 0.25})";
  written.curve[1].metrics = R"({"mining.pi": 1})";
  written.baselines.push_back({"test", std::string(kRankingScores), "ages", 0.3});
  open().record(id, written);
  const RunResult read = open().load().runs.at(0);
  EXPECT_EQ(read.curve[0].validation_mrr, 0.25);
  EXPECT_TRUE(std::isnan(read.curve[1].validation_mrr));
  EXPECT_EQ(validation_figure(read), ValidationFigure::kMrr);
  EXPECT_EQ(best_validation(read, 2, ValidationFigure::kMrr), 0.25);
  EXPECT_EQ(best_validation(read, 2, ValidationFigure::kAp), 0.7);
  ASSERT_EQ(read.baselines.size(), 2U);
  EXPECT_EQ(read.baselines[0].protocol, kRankingScores);
  EXPECT_EQ(read.baselines[0].value, 0.3);
}

TEST_F(StoreTest, ARecordReplacesTheOneBefore) {
  ResultStore store = open();
  const std::int64_t id = store.add(job(0));
  store.record(id, finished_run(0.1));
  RunResult again = finished_run(0.2);
  again.curve.pop_back();
  store.record(id, again);
  const ResultSet results = store.load();
  EXPECT_EQ(find_score(results.runs.at(0), "test", "trans", "ap"), 0.2);
  EXPECT_EQ(results.runs[0].curve.size(), 1U);
}

TEST_F(StoreTest, PlansOnceWhatSeveralExperimentsShare) {
  ResultStore store = open();
  const Experiment first{.name = "first", .title = "The first", .jobs = {job(0), job(1)}};
  const Experiment second{.name = "second", .title = "", .jobs = {job(1, "complete"), job(2, "x")}};
  const auto a = store.plan(first);
  const auto b = store.plan(second);
  EXPECT_EQ(store.plan(first), a) << "planning again changes nothing";
  EXPECT_EQ(a[1], b[0]);
  const ResultSet results = store.load();
  EXPECT_EQ(results.runs.size(), 3U);
  ASSERT_EQ(results.cells.size(), 4U);
  EXPECT_EQ(results.cells[2].experiment, "second");
  EXPECT_EQ(results.cells[2].variant, "complete");
  EXPECT_EQ(results.titles.at("first"), "The first");
  EXPECT_EQ(results.runs[results.cells[2].run].id, b[0]);
}

TEST_F(StoreTest, DropsCellsThatAnExperimentNoLongerHasButNeverRuns) {
  ResultStore store = open();
  store.plan({.name = "grid", .title = "", .jobs = {job(0), job(1)}});
  store.plan({.name = "grid", .title = "", .jobs = {job(1)}});
  EXPECT_EQ(store.load().cells.size(), 1U);
  EXPECT_EQ(store.load().runs.size(), 2U);
}

TEST_F(StoreTest, Filters) {
  ResultStore store = open();
  Job other = job(0);
  other.network = "WIKI";
  store.plan({.name = "a", .title = "", .jobs = {job(0), other}});
  store.plan({.name = "b", .title = "", .jobs = {job(1)}});
  store.record(1, finished_run());
  EXPECT_EQ(store.load({.experiments = {"a"}}).runs.size(), 2U);
  EXPECT_EQ(store.load({.experiments = {"a"}}).cells.size(), 2U);
  EXPECT_EQ(store.load({.networks = {"WIKI"}}).runs.size(), 1U);
  EXPECT_EQ(store.load({.models = {"jodie"}}).runs.size(), 0U);
  EXPECT_EQ(store.load({.state = RunState::kDone}).runs.size(), 1U);
  EXPECT_TRUE(store.load({.curves = false}).runs[0].curve.empty());
}

TEST_F(StoreTest, ARunBelongsToOneProcess) {
  ResultStore store = open();
  const std::int64_t id = store.add(job(0));
  EXPECT_TRUE(store.claim(id));
  EXPECT_FALSE(open().claim(id)) << "this process has it";
  store.release(id, "");
  EXPECT_TRUE(store.claim(id));
  store.fail_run(id, "no luck");
  EXPECT_FALSE(store.claim(id)) << "nothing is tried again silently";
  EXPECT_EQ(store.load().runs[0].reason, "no luck");
  EXPECT_TRUE(store.claim(id, /*retry=*/true));
  EXPECT_FALSE(open().claim(id, /*retry=*/true)) << "this process has it";
  store.record(id, finished_run());
  EXPECT_FALSE(store.claim(id));
  EXPECT_FALSE(store.claim(id, /*retry=*/true)) << "what is done stays done";
}

TEST_F(StoreTest, ARunOfADeadProcessIsFree) {
  ResultStore store = open();
  const std::int64_t id = store.add(job(0));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool taken = ResultStore(file()).claim(id);
    ::_exit(taken ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(store.state(id), RunState::kWaiting);
  EXPECT_EQ(store.load().runs[0].state, RunState::kWaiting);
  EXPECT_TRUE(store.claim(id));
}

TEST_F(StoreTest, ManyProcessesWriteAtOnce) {
  constexpr int kProcesses = 8;
  constexpr int kRuns = 10;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 0;
      try {
        ResultStore store(file());  // creating it is part of the race
        for (int i = 0; i < kRuns; ++i) {
          const std::int64_t id = store.add(job(p * kRuns + i));
          if (!store.claim(id)) code = 2;
          store.record(id, finished_run());
        }
      } catch (const std::exception&) {
        code = 1;
      }
      ::_exit(code);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const ResultSet results = open().load();
  EXPECT_EQ(results.runs.size(), static_cast<std::size_t>(kProcesses * kRuns));
  for (const RunResult& run : results.runs) EXPECT_EQ(run.curve.size(), 2U);
}

TEST_F(StoreTest, AKilledWriterLeavesWholeRuns) {
  for (int round = 0; round < 5; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      ResultStore store(file());
      for (std::int64_t seed = 0;; ++seed) store.record(store.add(job(seed)), finished_run());
    }
    ::usleep(30'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const RunResult& run : open().load().runs) {
      if (run.state != RunState::kDone) continue;
      EXPECT_EQ(run.curve.size(), 2U);
      EXPECT_EQ(run.scores.size(), 2U);
    }
  }
}

TEST_F(StoreTest, RefusesWhatIsNoStore) {
  testing::write_bytes(file(),
                       "this is a letter, not a database, and longer than a header of one "
                       "would be, which matters: SQLite looks at a hundred bytes");
  EXPECT_NE(error_of([&] { open(); }).find("is not a store of results"), std::string::npos);
  std::filesystem::remove(file());
  sql("CREATE TABLE notes (text)");
  EXPECT_NE(error_of([&] { open(); }).find("not a store of results"), std::string::npos);
  EXPECT_NE(error_of([&] { ResultStore(folder_.path()); }).find("is a folder"), std::string::npos);
  EXPECT_NE(error_of([&] {
              ResultStore(folder_.path() / "none.db", ResultStore::Mode::kRead);
            }).find("there is no store"),
            std::string::npos);
}

TEST_F(StoreTest, AReaderChangesNothing) {
  const auto read = [&] { ResultStore(file(), ResultStore::Mode::kRead).load(); };
  sql("CREATE TABLE notes (text)");
  const std::string before = testing::read_bytes(file());
  EXPECT_NE(error_of(read).find("not a store of results"), std::string::npos);
  EXPECT_EQ(testing::read_bytes(file()), before);
  testing::write_bytes(file(), "");
  EXPECT_NE(error_of(read).find("not a store of results"), std::string::npos);
  EXPECT_EQ(testing::read_bytes(file()), "");
}

TEST_F(StoreTest, ReadsWithNamesThatMeanSomethingInAddresses) {
  const std::filesystem::path odd = folder_.path() / "a?b=%41 #c.db";
  ResultStore(odd).add(job(0));
  EXPECT_TRUE(std::filesystem::exists(odd));
  EXPECT_EQ(ResultStore(odd, ResultStore::Mode::kRead).load().runs.size(), 1U);
}

TEST_F(StoreTest, RefusesAStoreOfANewerProgram) {
  open();
  sql("PRAGMA user_version = 99");
  EXPECT_NE(error_of([&] { open(); }).find("newer curnm (schema 99"), std::string::npos);
}

TEST_F(StoreTest, AStoreOfAnOlderProgramCanOnlyBeRead) {
  open().add(job(0));
  sql("PRAGMA user_version = 1");
  EXPECT_NE(error_of([&] { open(); }).find("older curnm (schema 1)"), std::string::npos);
  EXPECT_EQ(ResultStore(file(), ResultStore::Mode::kRead).load().runs.size(), 1U);
}

TEST_F(StoreTest, SaysThatItIsDamaged) {
  {
    ResultStore store = open();
    for (std::int64_t seed = 0; seed < 50; ++seed) {
      store.record(store.add(job(seed)), finished_run());
    }
  }
  std::string bytes = testing::read_bytes(file());
  ASSERT_GT(bytes.size(), 40'000U);
  std::fill(bytes.begin() + 4096, bytes.end(),
            '\x5a');  // the first page, with the schema, is whole
  testing::write_bytes(file(), bytes);
  EXPECT_NE(error_of([&] { open().load(); }).find("is damaged"), std::string::npos);
}

TEST_F(StoreTest, ValuesThatAreNoJsonAreDamage) {
  open().record(open().add(job(0)), finished_run());
  sql("UPDATE options SET value = '{'");
  EXPECT_NE(error_of([&] { open().load(); }).find("results.db is damaged"), std::string::npos);
}

TEST_F(StoreTest, AFullDiskIsAnErrorAndHarmsNothing) {
  ResultStore store = open();
  const std::int64_t id = store.add(job(0));
  store.record(id, finished_run());
  RunResult large = finished_run();
  for (std::int64_t epoch = 2; epoch < 20'000; ++epoch) {
    large.curve.push_back({epoch, 0.5, 1, R"({"mining.pi": 0.1})"});
  }
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 400'000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { store.record(id, large); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(error.find("results.db"), std::string::npos) << error;
  EXPECT_EQ(open().load().runs.at(0).curve.size(), 2U);
}

TEST_F(StoreTest, KeepsTrials) {
  ResultStore store = open();
  const std::int64_t run = store.add(job(0));
  const std::vector<Trial> trials = {{0, run, 2, 0.9}, {1, run, 0, kNoValue}};
  store.save_trials("study", trials);
  EXPECT_EQ(number("SELECT rung FROM trials WHERE study = 'study' AND trial = 0"), 2);
  EXPECT_EQ(number("SELECT score FROM trials WHERE trial = 0"), 0.9);
  EXPECT_EQ(number("SELECT count(*) FROM trials WHERE score IS NULL"), 1);
  store.save_trials("study", std::span(trials).first(1));
  EXPECT_EQ(number("SELECT count(*) FROM trials"), 1) << "replaced";
}

TEST(OwnerTest, KnowsWhoStillRuns) {
  EXPECT_TRUE(still_runs(this_process()));
  EXPECT_FALSE(still_runs(this_process() + "0")) << "the same number, begun at another time";
  EXPECT_FALSE(still_runs(""));
  EXPECT_FALSE(still_runs("/"));
  EXPECT_FALSE(still_runs("another-boot/1/1"));
}

TEST(OwnerTest, AZombieDoesNotRun) {
  int name[2];
  ASSERT_EQ(::pipe(name), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string own = this_process();
    ::_exit(::write(name[1], own.data(), own.size()) > 0 ? 0 : 1);
  }
  ::close(name[1]);
  std::string own(300, '\0');
  const auto length = ::read(name[0], own.data(), own.size());
  ::close(name[0]);
  ASSERT_GT(length, 0);
  own.resize(static_cast<std::size_t>(length));
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // it stays a zombie
  EXPECT_FALSE(still_runs(own));
  ::waitpid(child, nullptr, 0);
}

TEST(JournalTest, NetworkFileSystemsGetARollbackJournal) {
  for (const long shared : {0x6969L, 0xff534d42L, 0xfe534d42L, 0x65735546L, 0x01021997L}) {
    EXPECT_STREQ(sqlite::journal_for(shared), "DELETE") << shared;
  }
  for (const long local : {0xef53L, 0x58465342L, 0x9123683eL, 0x01021994L, 0x794c7630L, 0L}) {
    EXPECT_STREQ(sqlite::journal_for(local), "WAL") << local;
  }
}

}  // namespace
}  // namespace curnm
