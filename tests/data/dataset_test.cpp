#include "curnm/data/dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "curnm/data/open.h"
#include "curnm/data/reader.h"
#include "support/datasets.h"
#include "support/errors.h"
#include "support/gzip_writer.h"
#include "support/npy_writer.h"
#include "support/stored_dataset.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::fails;
using testing::inconsistency;
using testing::kColumnFiles;
using testing::names_in;
using testing::raw_bytes;
using testing::read_bytes;
using testing::read_meta_json;
using testing::seal;
using testing::to_vector;
using testing::write_bytes;
using testing::write_meta_json;
using Names = std::vector<std::string>;

IdMap ids_of(const Names& names) {
  IdTable table;
  for (const std::string& name : names) table.intern(name);
  return table.finish();
}

/// Four events, five nodes and every column there is.
Dataset full_dataset() {
  return {
      .name = "full",
      .source = "by hand",
      .format = "none",
      .events = {std::vector<NodeId>{0, 1, 0, 3}, std::vector<NodeId>{1, 2, 3, 3},
                 std::vector<Timestamp>{0, 0.1, 0.1, 0x1p53}, 5},
      .labels = std::vector<float>{0, 1, -0.0F, 0.1F},
      .roll = std::vector<std::uint8_t>{0, 0, 1, 2},
      .edge_features = {std::vector<float>{1, 2, 3, 4, 5, 6, 7, 1e-45F}, 2},
      .node_features = {std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 3},
      .ids = ids_of({"a", "Doe, Jane", "", "Zo\xc3\xab", "e"}),
      .communities = std::vector<std::int32_t>{-1, -1, 0, 1, 1},
      .notes = {"first note", "note with \"quotes\" and \xe2\x88\x80"}};
}

Dataset bare_dataset() {
  return {.name = "bare",
          .events = {std::vector<NodeId>{0, 1}, std::vector<NodeId>{1, 0},
                     std::vector<Timestamp>{1, 2}, 2}};
}

template <class T>
std::string bytes_of(const Column<T>& column) {
  return raw_bytes(to_vector(column));
}

/// The bytes of every column, under the names of their files.
std::map<std::string, std::string> columns_of(const Dataset& d) {
  return {{"time.f64", bytes_of(d.events.time)},
          {"src.i32", bytes_of(d.events.src)},
          {"dst.i32", bytes_of(d.events.dst)},
          {"labels.f32", bytes_of(d.labels)},
          {"roll.u8", bytes_of(d.roll)},
          {"edge_features.f32", bytes_of(d.edge_features.values)},
          {"node_features.f32", bytes_of(d.node_features.values)},
          {"communities.i32", bytes_of(d.communities)},
          {"id_offsets.i64", bytes_of(d.ids.offsets)},
          {"id_text.txt", bytes_of(d.ids.text)}};
}

void expect_equal(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(columns_of(a), columns_of(b)) << "to the bit";
  EXPECT_EQ(a.events.num_nodes, b.events.num_nodes);
  EXPECT_EQ(a.edge_features.width, b.edge_features.width);
  EXPECT_EQ(a.node_features.width, b.node_features.width);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.digest(), b.digest());
}

class DatasetTest : public ::testing::Test {
 protected:
  fs::path target() const { return folder_ / "net"; }
  /// A freshly stored data set with every column.
  fs::path stored(const Dataset& dataset = full_dataset()) const {
    fs::remove_all(target());
    save_dataset(dataset, target(), /*force=*/false);
    return target();
  }
  ::testing::AssertionResult damaged(std::vector<std::string> parts) const {
    return fails([&] { load_dataset(target()); }, parts);
  }
  /// Stores the full data set, changes its description and loads it.
  ::testing::AssertionResult damaged_by(const std::function<void(ordered_json&)>& edit,
                                        std::vector<std::string> parts) const {
    ordered_json meta = read_meta_json(stored());
    edit(meta);
    write_meta_json(target(), meta);
    return damaged(parts);
  }
  /// Stores the full data set, replaces a column, corrects the digests and loads it.
  ::testing::AssertionResult damaged_with(const std::string& file, std::string_view bytes,
                                          std::vector<std::string> parts) const {
    write_bytes(stored() / file, bytes);
    seal(target());
    parts.push_back(target().string());
    return damaged(parts);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(DatasetTest, EveryColumnComesBack) {
  const Dataset original = full_dataset();
  const Dataset loaded = load_dataset(stored(original));
  EXPECT_EQ(inconsistency(loaded), "");
  expect_equal(loaded, original);
  EXPECT_EQ(loaded.ids.name(1), "Doe, Jane");
  EXPECT_EQ(loaded.ids.name(2), "");
}

TEST_F(DatasetTest, OneFilePerColumnAndADescription) {
  Names expected(std::begin(kColumnFiles), std::end(kColumnFiles));
  expected.push_back("meta.json");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names_in(stored()), expected);
  for (const auto& [file, bytes] : columns_of(full_dataset())) {
    EXPECT_EQ(read_bytes(target() / file), bytes) << file << " is raw and little-endian";
  }
  EXPECT_EQ(read_meta_json(target()).at("digest"), full_dataset().digest());
}

TEST_F(DatasetTest, AbsentColumnsStayAbsent) {
  const Dataset original = bare_dataset();
  const Dataset loaded = load_dataset(stored(original));
  expect_equal(loaded, original);
  EXPECT_EQ(inconsistency(loaded), "");
  EXPECT_EQ(names_in(target()), (Names{"dst.i32", "meta.json", "src.i32", "time.f64"}));
  EXPECT_EQ(loaded.ids.name(1), "1");
}

TEST_F(DatasetTest, NetworksWithoutEvents) {
  const Dataset original{.name = "quiet", .events = {{}, {}, {}, 3}};
  expect_equal(load_dataset(stored(original)), original);
}

TEST_F(DatasetTest, DigestIsThatOfTheContentWhateverTheFile) {
  const std::string text = "src,dst,time,label\n7,8,1,0\n8,9,2,1\n";
  const Dataset csv = read_network(folder_.write("a.csv", text));
  const Dataset tsv =
      read_network(folder_.write("b.tsv.gz", testing::gzipped("7\t8\t1\t0\n8\t9\t2\t1")));
  folder_.write("tgl/edges.csv", text);
  const Dataset tgl = read_network(folder_ / "tgl");
  EXPECT_EQ(csv.digest(), tsv.digest());
  EXPECT_EQ(csv.digest(), tgl.digest());
  EXPECT_EQ(csv.digest().size(), 32U);

  const Dataset loaded = load_dataset(stored(tgl));
  EXPECT_EQ(loaded.digest(), csv.digest());
  EXPECT_EQ(loaded.source, tgl.source);
  EXPECT_EQ(loaded.format, "tgl");
}

TEST_F(DatasetTest, DigestChangesWithTheContentOnly) {
  const std::string digest = full_dataset().digest();
  std::set<std::string> digests = {digest};
  const auto differs = [&](const char* what, const std::function<void(Dataset&)>& change) {
    Dataset changed = full_dataset();
    change(changed);
    EXPECT_TRUE(digests.insert(changed.digest()).second) << what;
  };
  const auto altered = []<class T>(const Column<T>& column) {
    std::vector<T> values = to_vector(column);
    for (T& value : values) value = static_cast<T>(value + T{1});
    return Column<T>(std::move(values));
  };
  differs("time", [&](Dataset& d) { d.events.time = altered(d.events.time); });
  differs("src", [&](Dataset& d) { d.events.src = altered(d.events.src); });
  differs("dst", [&](Dataset& d) { d.events.dst = altered(d.events.dst); });
  differs("src and dst", [&](Dataset& d) { std::swap(d.events.src, d.events.dst); });
  differs("nodes", [&](Dataset& d) { ++d.events.num_nodes; });
  differs("labels", [&](Dataset& d) { d.labels = altered(d.labels); });
  differs("no labels", [&](Dataset& d) { d.labels = {}; });
  differs("roll", [&](Dataset& d) { d.roll = altered(d.roll); });
  differs("no roll", [&](Dataset& d) { d.roll = {}; });
  differs("edge features",
          [&](Dataset& d) { d.edge_features.values = altered(d.edge_features.values); });
  differs("no edge features", [&](Dataset& d) { d.edge_features = {}; });
  differs("node features",
          [&](Dataset& d) { d.node_features.values = altered(d.node_features.values); });
  differs("no node features", [&](Dataset& d) { d.node_features = {}; });
  differs("communities", [&](Dataset& d) { d.communities = altered(d.communities); });
  differs("ids", [&](Dataset& d) { d.ids = ids_of({"a", "Doe, Jane", "", "Zo\xc3\xab", "f"}); });
  differs("border of ids", [&](Dataset& d) {
    d.ids = ids_of({"aD", "oe, Jane", "", "Zo\xc3\xab", "e"});
  });
  differs("no ids", [&](Dataset& d) { d.ids = {}; });

  Dataset renamed = full_dataset();
  renamed.name = "other";
  renamed.source = "elsewhere";
  renamed.format = "csv";
  renamed.notes.clear();
  EXPECT_EQ(renamed.digest(), digest);
}

TEST_F(DatasetTest, AnExistingDataSetIsKeptWithoutForce) {
  stored();
  EXPECT_TRUE(fails([&] { save_dataset(bare_dataset(), target(), /*force=*/false); },
                    {target().string(), "exists already", "--force"}));
  expect_equal(load_dataset(target()), full_dataset());
  EXPECT_EQ(names_in(folder_.path()), Names{"net"});
}

TEST_F(DatasetTest, AnExistingDataSetIsReplacedWithForce) {
  stored();
  save_dataset(bare_dataset(), target(), /*force=*/true);
  expect_equal(load_dataset(target()), bare_dataset());
  EXPECT_EQ(names_in(folder_.path()), Names{"net"});
}

TEST_F(DatasetTest, ADamagedDataSetIsReplacedWithForce) {
  write_bytes(stored() / "time.f64", "");
  save_dataset(bare_dataset(), target(), /*force=*/true);
  expect_equal(load_dataset(target()), bare_dataset());
}

TEST_F(DatasetTest, ADataSetCanReplaceTheFolderItIsMappedFrom) {
  stored();
  const Dataset mapped = load_dataset(target());
  save_dataset(mapped, target(), /*force=*/true);
  expect_equal(mapped, full_dataset());
  expect_equal(load_dataset(target()), full_dataset());
}

TEST_F(DatasetTest, NothingButADataSetIsEverReplaced) {
  const auto left_alone = [&](const char* name) {
    for (bool force : {false, true}) {
      EXPECT_TRUE(fails([&] { save_dataset(full_dataset(), folder_ / name, force); },
                        {(folder_ / name).string(), "left alone"}))
          << name << ", force " << force;
    }
  };
  folder_.write("thesis/chapter.txt", "years of work");
  left_alone("thesis");
  EXPECT_EQ(names_in(folder_ / "thesis"), Names{"chapter.txt"});
  folder_.write("file", "text");
  left_alone("file");
  EXPECT_EQ(read_bytes(folder_ / "file"), "text");
  EXPECT_EQ(names_in(folder_.path()), (Names{"file", "thesis"}));
}

TEST_F(DatasetTest, FoldersOfOthersThatHaveAMetaJsonAreNotReplaced) {
  for (const char* meta : {"{\"title\": \"my thesis\"}", "[]", "not even JSON", ""}) {
    folder_.write("thesis/meta.json", meta);
    folder_.write("thesis/chapter.txt", "years of work");
    EXPECT_TRUE(fails([&] { save_dataset(full_dataset(), folder_ / "thesis", /*force=*/true); },
                      {(folder_ / "thesis").string(), "left alone"}))
        << meta;
    EXPECT_TRUE(fs::exists(folder_ / "thesis/chapter.txt")) << meta;
  }
}

TEST_F(DatasetTest, MissingParentsAreMade) {
  save_dataset(bare_dataset(), folder_ / "a/b/net/", /*force=*/false);
  expect_equal(load_dataset(folder_ / "a/b/net"), bare_dataset());
  EXPECT_EQ(names_in(folder_ / "a/b"), Names{"net"});
}

TEST_F(DatasetTest, ParentsThatCannotBeWrittenAreNamed) {
  folder_.write("file", "text");
  EXPECT_TRUE(fails([&] { save_dataset(bare_dataset(), folder_ / "file/net", /*force=*/false); },
                    {(folder_ / "file").string()}));
  EXPECT_EQ(names_in(folder_.path()), Names{"file"});
  EXPECT_TRUE(fails([&] { save_dataset(bare_dataset(), "/proc/net-of-curnm", /*force=*/false); },
                    {"/proc"}));

  if (::geteuid() == 0) return;  // may write anywhere
  fs::create_directory(folder_ / "locked");
  fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(fails([&] { save_dataset(bare_dataset(), folder_ / "locked/net", /*force=*/false); },
                    {(folder_ / "locked").string(), "Permission denied"}));
}

TEST_F(DatasetTest, NamesThatMakeNoPathAreErrors) {
  EXPECT_TRUE(fails([&] { save_dataset(bare_dataset(), "", /*force=*/false); }, {}));
  EXPECT_TRUE(
      fails([&] { save_dataset(bare_dataset(), folder_ / std::string(300, 'x'), /*force=*/false); },
            {"xxx"}));
  EXPECT_TRUE(names_in(folder_.path()).empty());
}

TEST_F(DatasetTest, AFailedSaveLeavesNothingBehind) {
  Dataset broken = full_dataset();
  broken.communities = std::vector<std::int32_t>{1, 2};  // too few, found half way
  EXPECT_ANY_THROW(save_dataset(broken, target(), /*force=*/false));
  EXPECT_TRUE(names_in(folder_.path()).empty());

  stored();
  EXPECT_ANY_THROW(save_dataset(broken, target(), /*force=*/true));
  EXPECT_EQ(names_in(folder_.path()), Names{"net"});
  expect_equal(load_dataset(target()), full_dataset());
}

// File names are bytes, and so are the sources and notes that contain them.
TEST_F(DatasetTest, NamesThatAreNotUtf8AreStoredOrRefused) {
  const auto path = folder_.write("caf\xe9.csv", "a,b,1\n");
  const Dataset dataset = read_network(path);
  try {
    save_dataset(dataset, target(), /*force=*/false);
    EXPECT_EQ(load_dataset(target()).digest(), dataset.digest());
  } catch (const Error& error) {
    EXPECT_EQ(names_in(folder_.path()), Names{"caf\xe9.csv"}) << error.what();
  }
}

TEST_F(DatasetTest, TruncatedAndExtendedColumnsAreNamed) {
  for (const std::string file : kColumnFiles) {
    const std::string bytes = read_bytes(stored() / file);
    for (const std::string& wrong :
         {std::string(), bytes.substr(0, bytes.size() - 1), bytes + '\0'}) {
      write_bytes(target() / file, wrong);
      EXPECT_TRUE(damaged({(target() / file).string(), "truncated or damaged", "import"}))
          << file << " with " << wrong.size() << " bytes";
    }
  }
}

TEST_F(DatasetTest, EveryFlippedBitOfAColumnIsFound) {
  stored();
  for (const std::string file : kColumnFiles) {
    const std::string bytes = read_bytes(target() / file);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string wrong = bytes;
      wrong[bit / 8] ^= static_cast<char>(1 << bit % 8);
      write_bytes(target() / file, wrong);
      ASSERT_TRUE(damaged({(target() / file).string(), "digest", "import"})) << file << ", " << bit;
    }
    write_bytes(target() / file, bytes);
  }
  expect_equal(load_dataset(target()), full_dataset());
}

TEST_F(DatasetTest, MissingColumnFilesAreNamed) {
  for (const std::string file : kColumnFiles) {
    fs::remove(stored() / file);
    EXPECT_TRUE(damaged({(target() / file).string()})) << file;
  }
}

TEST_F(DatasetTest, ColumnsMissingFromTheDescriptionAreFound) {
  for (const std::string file : kColumnFiles) {
    EXPECT_TRUE(damaged_by([&](ordered_json& meta) { meta["columns"].erase(file); },
                           {(target() / "meta.json").string()}))
        << file;
  }
}

TEST_F(DatasetTest, EditedColumnEntriesAreFound) {
  for (const std::string file : kColumnFiles) {
    const auto entry = [&](ordered_json& meta) -> ordered_json& { return meta["columns"][file]; };
    const std::string place = target().string();
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m)["bytes"] = 8; }, {place, file}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m)["bytes"] = -1; }, {place, file}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m)["bytes"] = "x"; }, {"bytes"}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m).erase("bytes"); }, {"bytes"}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m)["digest"] = "00"; }, {place, file}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m)["digest"] = 7; }, {"digest"}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m).erase("digest"); }, {"digest"}));
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { entry(m) = nullptr; }, {"meta.json"}));
  }
}

TEST_F(DatasetTest, EveryFieldOfTheDescriptionIsNeeded) {
  const ordered_json meta = read_meta_json(stored());
  for (const auto& item : meta.items()) {
    const std::string& key = item.key();
    const std::vector<std::string> parts =
        key == "format" ? std::vector<std::string>{"meta.json", "does not describe"}
                        : std::vector<std::string>{"meta.json"};
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { m.erase(key); }, parts)) << key;
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { m[key] = nullptr; }, parts)) << key;
    const ordered_json other_kind = item.value().is_string() ? ordered_json(17) : ordered_json("x");
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { m[key] = other_kind; }, parts)) << key;
  }
}

TEST_F(DatasetTest, EditedCountsAreFound) {
  for (const char* key : {"nodes", "events", "edge_feature_width", "node_feature_width"}) {
    const auto value = read_meta_json(stored()).at(key).get<std::int64_t>();
    for (const ordered_json& wrong :
         {ordered_json(value + 1), ordered_json(value - 1), ordered_json(0), ordered_json(-1),
          ordered_json(std::int64_t{1} << 62), ordered_json(~std::uint64_t{0}), ordered_json(1e300),
          ordered_json(-1e300), ordered_json(static_cast<double>(value) + 0.5)}) {
      EXPECT_TRUE(damaged_by([&](ordered_json& m) { m[key] = wrong; }, {target().string()}))
          << key << " " << wrong;
    }
  }
}

TEST_F(DatasetTest, WidthsOfAbsentFeaturesAreZero) {
  for (const char* key : {"edge_feature_width", "node_feature_width"}) {
    ordered_json meta = read_meta_json(stored(bare_dataset()));
    meta[key] = 5;
    write_meta_json(target(), meta);
    EXPECT_TRUE(damaged({(target() / "meta.json").string()})) << key;
  }
}

TEST_F(DatasetTest, EditedDigestOfTheWholeIsFound) {
  EXPECT_TRUE(damaged_by([](ordered_json& m) { m["digest"] = std::string(32, '0'); },
                         {(target() / "meta.json").string(), "digest", "import"}));
}

TEST_F(DatasetTest, FreeTextOfTheDescriptionMayBeEdited) {
  ordered_json meta = read_meta_json(stored());
  meta["name"] = "renamed";
  meta["source"] = "";
  meta["source_format"] = "csv";
  meta["notes"] = {"only this"};
  write_meta_json(target(), meta);
  const Dataset loaded = load_dataset(target());
  EXPECT_EQ(loaded.name, "renamed");
  EXPECT_EQ(loaded.notes, Names{"only this"});
  EXPECT_EQ(loaded.digest(), full_dataset().digest());
  EXPECT_TRUE(damaged_by([](ordered_json& m) { m["notes"] = {1, 2}; }, {"meta.json", "notes"}));
}

TEST_F(DatasetTest, OtherVersionsAreExplained) {
  for (const ordered_json& newer :
       {ordered_json(2), ordered_json(1000), ordered_json((std::int64_t{1} << 32) + 1)}) {
    EXPECT_TRUE(
        damaged_by([&](ordered_json& m) { m["version"] = newer; },
                   {(target() / "meta.json").string(), "newer curnm", newer.dump(), "update"}))
        << newer;
  }
  for (const ordered_json& wrong :
       {ordered_json(0), ordered_json(-1), ordered_json("1"), ordered_json(1.5)}) {
    EXPECT_TRUE(damaged_by([&](ordered_json& m) { m["version"] = wrong; },
                           {(target() / "meta.json").string(), "version"}))
        << wrong;
  }
}

TEST_F(DatasetTest, GarbageInsteadOfADescription) {
  stored();
  for (const char* text : {"", "garbage", "[]", "null", "17", "\"text\"", "{}", "\xff\xfe{",
                           "{\"format\": \"other\", \"version\": 1}",
                           "{\"format\": [\"curnm-dataset\"], \"version\": 1}"}) {
    write_bytes(target() / "meta.json", text);
    EXPECT_TRUE(damaged({(target() / "meta.json").string(), "does not describe"})) << text;
  }
  fs::remove(target() / "meta.json");
  EXPECT_TRUE(damaged({(target() / "meta.json").string(), "No such file"}));
}

TEST_F(DatasetTest, EveryTruncationOfTheDescriptionIsFound) {
  const std::string text = read_bytes(stored() / "meta.json");
  for (std::size_t size = 0; size < text.rfind('}'); ++size) {
    write_bytes(target() / "meta.json", text.substr(0, size));
    ASSERT_TRUE(damaged({(target() / "meta.json").string()})) << size;
  }
}

TEST_F(DatasetTest, AFlippedBitOfTheDescriptionNeverChangesTheContent) {
  const std::string text = read_bytes(stored() / "meta.json");
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    std::string wrong = text;
    wrong[byte] ^= static_cast<char>(1 << byte % 7);
    write_bytes(target() / "meta.json", wrong);
    try {
      const Dataset loaded = load_dataset(target());
      ASSERT_EQ(inconsistency(loaded), "") << wrong;
      ASSERT_EQ(loaded.digest(), full_dataset().digest()) << wrong;
    } catch (const Error&) {
    }
  }
}

// In a process of its own, since what could go wrong is the stack.
TEST_F(DatasetTest, DeeplyNestedDescriptionsAreRefused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* key : {"format", "columns", "notes"}) {
    ordered_json fields = read_meta_json(stored());
    fields.erase(key);
    const std::string quoted = std::string("{\"") + key + "\":" + deep + ",";
    write_bytes(target() / "meta.json", quoted + fields.dump().substr(1));
    EXPECT_EXIT(
        {
          try {
            load_dataset(target());
          } catch (const Error&) {
            ::_exit(0);
          }
          ::_exit(1);
        },
        ::testing::ExitedWithCode(0), "")
        << key;
  }
}

TEST_F(DatasetTest, SealedDataSetsAreWhole) {
  seal(stored());
  expect_equal(load_dataset(target()), full_dataset());  // or the next tests would prove nothing
}

TEST_F(DatasetTest, WrongTimesBehindRightDigestsAreFound) {
  EXPECT_TRUE(damaged_with("time.f64", raw_bytes<double>({0, 2, 1, 3}), {"time 1 precedes 2"}));
  EXPECT_TRUE(damaged_with("time.f64",
                           raw_bytes<double>({0, 1, 2, std::numeric_limits<double>::quiet_NaN()}),
                           {"not finite"}));
  EXPECT_TRUE(damaged_with("time.f64",
                           raw_bytes<double>({0, 1, 2, std::numeric_limits<double>::infinity()}),
                           {"not finite"}));
}

TEST_F(DatasetTest, WrongNodesBehindRightDigestsAreFound) {
  EXPECT_TRUE(damaged_with("src.i32", raw_bytes<NodeId>({0, 1, 5, 3}), {"(5, 3)", "0 .. 4"}));
  EXPECT_TRUE(damaged_with("dst.i32", raw_bytes<NodeId>({1, -1, 3, 3}), {"(1, -1)", "0 .. 4"}));
}

TEST_F(DatasetTest, WrongIdsBehindRightDigestsAreFound) {
  const auto offsets = [&](const std::vector<std::int64_t>& values) {
    return damaged_with("id_offsets.i64", raw_bytes(values), {"node names"});
  };
  const std::int64_t size = full_dataset().ids.text.size();
  EXPECT_TRUE(offsets({0, 1, 10, 9, 14, size}));
  EXPECT_TRUE(offsets({1, 1, 10, 10, 14, size}));
  EXPECT_TRUE(offsets({-1, 1, 10, 10, 14, size}));
  EXPECT_TRUE(offsets({0, 1, 10, 10, 14, size + 1}));
  EXPECT_TRUE(offsets({0, 1, 10, 10, 14, size - 1}));
  EXPECT_TRUE(damaged_with("id_offsets.i64", raw_bytes<std::int64_t>({0, 1, size}), {}));
  EXPECT_TRUE(damaged_with("id_text.txt", "short", {"node names"}));
}

TEST_F(DatasetTest, WrongFeaturesBehindRightDigestsAreFound) {
  std::vector<float> edges(8, 1);
  edges[5] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(damaged_with("edge_features.f32", raw_bytes(edges), {"edge_features.f32", "finite"}));
  std::vector<float> nodes(15, 1);
  nodes[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(damaged_with("node_features.f32", raw_bytes(nodes), {"node_features.f32", "finite"}));
}

TEST_F(DatasetTest, WrongSizesBehindRightDigestsAreFound) {
  for (const std::string file : kColumnFiles) {
    if (file == "id_text.txt") continue;  // has a size of its own
    const std::string more = read_bytes(stored() / file) + std::string(24, '\0');
    EXPECT_TRUE(damaged_with(file, more, {file})) << file;
    EXPECT_TRUE(damaged_with(file, "", {file})) << file;
  }
}

TEST_F(DatasetTest, ClaimsAreToldByTheDescription) {
  EXPECT_TRUE(is_dataset(stored()));
  EXPECT_FALSE(is_dataset(folder_.path()));
  EXPECT_FALSE(is_dataset(folder_ / "missing"));
  EXPECT_FALSE(is_dataset(folder_.write("file.csv", "a,b,1\n")));
}

TEST_F(DatasetTest, OpenAcceptsStoredRawAndSynthetic) {
  expect_equal(open_dataset(stored().string()), full_dataset());
  const auto path = folder_.write("x.csv", "a,b,1\n");
  EXPECT_EQ(open_dataset(path.string()).digest(), read_network(path).digest());
  EXPECT_EQ(open_dataset("synthetic").name, "drift");
  EXPECT_EQ(open_dataset("synthetic:sparse").name, "sparse");
  EXPECT_EQ(open_dataset("synthetic").digest(), open_dataset("synthetic:drift").digest());
}

TEST_F(DatasetTest, OpenRefusesTheRest) {
  EXPECT_TRUE(fails([&] { open_dataset((folder_ / "missing").string()); }, {"missing"}));
  EXPECT_TRUE(fails([&] { open_dataset(""); }, {}));
  EXPECT_TRUE(fails<UsageError>([&] { open_dataset("synthetic:drft"); },
                                {"unknown preset 'drft'", "did you mean 'drift'?", "sparse"}));
  EXPECT_TRUE(fails<UsageError>([&] { open_dataset("synthetic:"); }, {"unknown preset ''"}));
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_TRUE(fails([&] { open_dataset((folder_ / "loop").string()); }, {"loop"}));
  EXPECT_TRUE(fails([&] { open_dataset(std::string(5000, 'x')); }, {"xxx"}));
}

}  // namespace
}  // namespace curnm
