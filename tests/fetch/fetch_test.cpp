#include "curnm/fetch/fetch.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/datasets.h"
#include "support/errors.h"
#include "support/http_server.h"
#include "support/temporary_folder.h"

namespace curnm {
namespace {

using namespace std::chrono_literals;
using testing::fails;
using testing::HttpReply;
using testing::HttpRequest;
using testing::HttpServer;
using testing::names_in;
using testing::read_bytes;
using testing::TemporaryFolder;

constexpr std::int64_t kEvents = 400;
constexpr std::int64_t kNodes = 9;
constexpr CatalogEntry kToy{.name = "Toy",
                            .url = "http://127.0.0.1:1/files/toy.csv?download=1",
                            .events = kEvents,
                            .nodes = kNodes};
using Names = std::vector<std::string>;

/// 5 users and 4 items, in JODIE's format. Another `start` is another version of the same size.
std::string jodie_table(int start = 1000) {
  std::string text = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
  for (int e = 0; e < kEvents; ++e) {
    text += fmt::format("{},{},{},0,0.5\n", e % 5, e % 4, start + e);
  }
  return text;
}

/// Nine nodes of one kind, in DyGLib's format.
std::string dyglib_table() {
  std::string text = ",u,i,ts,label,idx\n";
  for (int e = 0; e < kEvents; ++e) {
    text += fmt::format("{},{},{},{}.0,0.0,{}\n", e, e % 9 + 1, (e + 1) % 9 + 1, e, e + 1);
  }
  return text;
}

struct ZipEntry {
  std::string name;
  std::string content = {};
  decltype(AE_IFREG) type = AE_IFREG;
};

std::string make_zip(const std::vector<ZipEntry>& entries, const char* compression = "deflate") {
  std::string bytes(1 << 20, '\0');
  std::size_t used = 0;
  archive* zip = archive_write_new();
  archive_write_set_format_zip(zip);
  archive_write_set_format_option(zip, "zip", "compression", compression);
  archive_write_open_memory(zip, bytes.data(), bytes.size(), &used);
  for (const ZipEntry& given : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, given.name.c_str());
    archive_entry_set_filetype(entry, given.type);
    archive_entry_set_perm(entry, 0644);
    if (given.type == AE_IFLNK) {
      archive_entry_set_symlink(entry, given.content.c_str());
    } else if (given.type == AE_IFREG) {
      archive_entry_set_size(entry, static_cast<la_int64_t>(given.content.size()));
    }
    archive_write_header(zip, entry);
    if (given.type == AE_IFREG) {
      archive_write_data(zip, given.content.data(), given.content.size());
    }
    archive_entry_free(entry);
  }
  archive_write_close(zip);
  archive_write_free(zip);
  bytes.resize(used);
  return bytes;
}

class FetchTest : public ::testing::Test {
 protected:
  FetchOptions options(const HttpServer& server, std::string_view path = "/toy.csv") const {
    return {.cache = cache_,
            .url = server.url(path),
            .download = {.retries = 0, .retry_delay = 0ms, .stall_timeout = 5s}};
  }
  /// The fetch that must fail, and what its message must say.
  ::testing::AssertionResult refuses(const FetchOptions& fetch, const Names& parts) const {
    return fails([&] { fetch_network(kToy, fetch); }, parts);
  }
  Names cached() const { return std::filesystem::exists(cache_) ? names_in(cache_) : Names{}; }

  TemporaryFolder folder_;
  std::filesystem::path cache_ = folder_ / "cache";
};

TEST_F(FetchTest, PlainTableArrivesByteForByte) {
  const HttpServer server(HttpReply{.body = jodie_table(), .etag = "\"1\""});
  FetchOptions fetch = options(server);
  std::int64_t last_received = 0;
  std::int64_t last_total = 0;
  fetch.download.progress = [&](std::int64_t received, std::int64_t total) {
    EXPECT_GT(received, last_received);
    last_received = received;
    last_total = total;
  };
  const Dataset dataset = fetch_network(kToy, fetch);

  EXPECT_EQ(dataset.name, "Toy");
  EXPECT_EQ(dataset.source, fetch.url);
  EXPECT_EQ(dataset.format, "jodie");
  EXPECT_EQ(dataset.events.size(), kEvents);
  EXPECT_EQ(dataset.events.num_nodes, kNodes);
  EXPECT_EQ(testing::inconsistency(dataset), "");
  EXPECT_EQ(cached(), (Names{"toy.csv", "toy.csv.origin"}));
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(last_received, static_cast<std::int64_t>(jodie_table().size()));
  EXPECT_EQ(last_total, last_received);
  EXPECT_EQ(server.requests().front().header("range"), "");
}

TEST_F(FetchTest, PreparedTableOfAZipComesFirst) {
  const HttpServer server(HttpReply{.body = make_zip({{"toy", "", AE_IFDIR},
                                                      {"toy/toy.csv", "no,network\n"},
                                                      {"toy/ml_toy.csv", dyglib_table()},
                                                      {"__MACOSX/toy/._ml_toy.csv", "finder"},
                                                      {"__MACOSX/._ml_toy.csv", "finder"}})});
  const Dataset dataset = fetch_network(kToy, options(server, "/toy.zip?download=1"));
  EXPECT_EQ(dataset.format, "dyglib");
  EXPECT_EQ(dataset.source, server.url("/toy.zip?download=1"));
  EXPECT_EQ(dataset.events.num_nodes, kNodes);
  EXPECT_EQ(cached(), (Names{"toy.zip", "toy.zip.origin"})) << "what was unpacked is left";
}

TEST_F(FetchTest, OnlyTableOfAZipIsRead) {
  // Known by its content: nothing in the address says zip.
  const HttpServer server(HttpReply{
      .body = make_zip(
          {{"README.txt", "x"}, {"toy.csv", jodie_table()}, {"__MACOSX/._toy.csv", "finder"}})});
  const Dataset dataset = fetch_network(kToy, options(server, "/download"));
  EXPECT_EQ(dataset.format, "jodie");
  EXPECT_EQ(dataset.name, "Toy");
}

TEST_F(FetchTest, ZipWithoutOneTableIsRefused) {
  const HttpServer none(HttpReply{.body = make_zip({{"a/b/toy.csv", jodie_table()}})});
  EXPECT_TRUE(refuses(options(none), {"0 tables"}));
  const HttpServer two(HttpReply{.body = make_zip({{"a.csv", "x"}, {"b/c.csv", "x"}})});
  EXPECT_TRUE(refuses(options(two), {"2 tables"}));
  EXPECT_EQ(cached(), Names{});
}

TEST_F(FetchTest, MissingFileNamesStatusAndAddress) {
  const HttpServer server(HttpReply{.status = 404, .body = "<html>Not found</html>"});
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"404", fetch.url, "curnm import"}));
  EXPECT_EQ(cached(), Names{});
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(FetchTest, TruncatedTransferIsResumed) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{
        .body = jodie_table(), .etag = "\"1\"", .close_after = request.number == 0 ? 3000 : -1};
  });
  FetchOptions fetch = options(server);
  const std::size_t size = jodie_table().size();
  EXPECT_TRUE(refuses(fetch, {fetch.url, fmt::format("3000 of {} bytes", size), "the rest"}));
  EXPECT_EQ(cached(), (Names{"toy.csv.origin", "toy.csv.part"}));
  EXPECT_EQ(read_bytes(cache_ / "toy.csv.part"), jodie_table().substr(0, 3000));

  std::int64_t first_received = 0;
  fetch.download.progress = [&](std::int64_t received, std::int64_t total) {
    if (first_received == 0) first_received = received;
    EXPECT_EQ(total, static_cast<std::int64_t>(size));
  };
  EXPECT_EQ(fetch_network(kToy, fetch).events.size(), kEvents);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(cached(), (Names{"toy.csv", "toy.csv.origin"}));
  EXPECT_GT(first_received, 3000);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].header("range"), "bytes=3000-");
  EXPECT_EQ(requests[1].header("if-range"), "\"1\"");
}

TEST_F(FetchTest, RetriesResumeWithinOneCall) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{.status = request.number == 1 ? 503 : 200,
                     .body = jodie_table(),
                     .etag = "\"1\"",
                     .close_after = request.number == 0 ? 3000 : -1};
  });
  FetchOptions fetch = options(server);
  fetch.download.retries = 2;
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].header("range"), "bytes=3000-");
}

TEST_F(FetchTest, RetriesComeToAnEnd) {
  const HttpServer server(HttpReply{.status = 503});
  FetchOptions fetch = options(server);
  fetch.download.retries = 2;
  EXPECT_TRUE(refuses(fetch, {"503", fetch.url, "later"}));
  EXPECT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(cached(), Names{});
}

TEST_F(FetchTest, ServerThatIgnoresRangesSendsEverythingAnew) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{.body = jodie_table(),
                     .etag = "\"1\"",
                     .ranges = false,
                     .close_after = request.number == 0 ? 3000 : -1};
  });
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(server.requests().at(1).header("range"), "bytes=3000-");
}

/// The file changes behind a part; the old version is cut after 3000 bytes.
HttpServer::Handler changing_file(std::string later, bool if_range) {
  return [later = std::move(later), if_range](const HttpRequest& request) {
    if (request.number == 0) {
      return HttpReply{.body = jodie_table(), .etag = "\"1\"", .close_after = 3000};
    }
    return HttpReply{.body = later, .etag = "\"2\"", .if_range = if_range};
  };
}

TEST_F(FetchTest, ChangedFileIsNotGluedToAnOldPart) {
  const HttpServer server(changing_file(jodie_table(/*start=*/5000), /*if_range=*/true));
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  EXPECT_EQ(fetch_network(kToy, fetch).events.time.front(), 5000);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table(5000));
}

TEST_F(FetchTest, ChangedFileIsNoticedBehindAServerThatIgnoresIfRange) {
  const HttpServer server(changing_file(jodie_table(/*start=*/5000), /*if_range=*/false));
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table(5000));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[1].header("range"), "bytes=3000-");
  EXPECT_EQ(requests[2].header("range"), "");
}

TEST_F(FetchTest, ChangedFileIsNoticedByItsSizeAlone) {
  const std::string later = jodie_table(/*start=*/10'000);
  ASSERT_NE(later.size(), jodie_table().size());
  const HttpServer server([&](const HttpRequest& request) {
    if (request.number == 0) {
      return HttpReply{.body = jodie_table(), .etag = "\"1\"", .close_after = 3000};
    }
    return HttpReply{.body = later, .if_range = false};
  });
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), later);
}

TEST_F(FetchTest, RangeThatWasNotAskedForIsNotTaken) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{.body = jodie_table(),
                     .etag = "\"1\"",
                     .range_shift = -10,
                     .close_after = request.number == 0 ? 3000 : -1};
  });
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(FetchTest, RangesThatArriveInPiecesAreNotTakenForTheWhole) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{.body = jodie_table(),
                     .etag = "\"1\"",
                     .range_size = 1000,
                     .close_after = request.number == 0 ? 3000 : -1};
  });
  FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  EXPECT_TRUE(refuses(fetch, {"4000 of"}));
  fetch.download.retries = 10;
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
}

TEST_F(FetchTest, RangeBeyondTheEndStartsOver) {
  const std::string zip = make_zip({{"toy.csv", jodie_table()}});
  ASSERT_LT(zip.size(), 3000U);
  const HttpServer server(changing_file(zip, /*if_range=*/false));
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), zip);
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(FetchTest, PartThatCannotBeIdentifiedIsNotResumed) {
  const HttpServer server([](const HttpRequest& request) {
    // A weak tag says "equivalent", not "the same bytes".
    return HttpReply{.body = jodie_table(request.number == 0 ? 1000 : 5000),
                     .etag = "W/\"1\"",
                     .if_range = false,
                     .close_after = request.number == 0 ? 3000 : -1};
  });
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of", "start over"}));
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table(5000));
  EXPECT_EQ(server.requests().at(1).header("range"), "");
}

TEST_F(FetchTest, PartOfAnotherAddressIsNotResumed) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{.body = jodie_table(request.number == 0 ? 1000 : 5000),
                     .etag = "\"1\"",
                     .close_after = request.number == 0 ? 3000 : -1};
  });
  EXPECT_TRUE(refuses(options(server, "/a/toy.csv"), {"3000 of"}));
  fetch_network(kToy, options(server, "/b/toy.csv"));
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table(5000));
  EXPECT_EQ(server.requests().at(1).header("range"), "");
}

TEST_F(FetchTest, DamagedDescriptionOfAPartIsNotTrusted) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{
        .body = jodie_table(), .etag = "\"1\"", .close_after = request.number == 0 ? 3000 : -1};
  });
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {"3000 of"}));
  testing::write_bytes(cache_ / "toy.csv.origin", "{\"url\": 5");
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(server.requests().at(1).header("range"), "");
}

TEST_F(FetchTest, CompletePartOnlyNeedsItsName) {
  // As a kill between the last byte and the renaming leaves it.
  const HttpServer server(HttpReply{.body = jodie_table(), .etag = "\"1\""});
  const FetchOptions fetch = options(server);
  fetch_network(kToy, fetch);
  std::filesystem::rename(cache_ / "toy.csv", cache_ / "toy.csv.part");
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(FetchTest, CompleteDownloadIsUsedAgainForItsAddressAlone) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  fetch_network(kToy, options(server, "/a/toy.csv"));
  fetch_network(kToy, options(server, "/a/toy.csv"));
  EXPECT_EQ(server.requests().size(), 1U);
  fetch_network(kToy, options(server, "/b/toy.csv"));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(FetchTest, WrongCountsAreNamedAndTheDownloadIsRemoved) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  const FetchOptions fetch = options(server);
  CatalogEntry more_events = kToy;
  more_events.events = 401;
  EXPECT_TRUE(fails([&] { fetch_network(more_events, fetch); },
                    {fetch.url, "Toy", "400 events and 9 nodes", "401 and 9"}));
  EXPECT_EQ(cached(), Names{});
  CatalogEntry fewer_nodes = kToy;
  fewer_nodes.nodes = 8;
  EXPECT_TRUE(
      fails([&] { fetch_network(fewer_nodes, fetch); }, {"400 events and 9 nodes", "400 and 8"}));
  EXPECT_EQ(cached(), Names{});
  EXPECT_EQ(fetch_network(kToy, fetch).events.size(), kEvents);
}

TEST_F(FetchTest, WebPageInsteadOfDataIsRemoved) {
  const HttpServer server([](const HttpRequest& request) {
    return HttpReply{.body = request.number == 0 ? "\n<!DOCTYPE html><html>a,b,c</html>\n"
                                                 : jodie_table()};
  });
  const FetchOptions fetch = options(server);
  EXPECT_TRUE(refuses(fetch, {fetch.url, "web page"}));
  EXPECT_EQ(cached(), Names{});
  EXPECT_EQ(fetch_network(kToy, fetch).events.size(), kEvents);
}

TEST_F(FetchTest, OtherContentIsRemovedToo) {
  for (const char* body : {"", "\n", "{\"error\": 1}", "a,b,c\n1,2,x\n"}) {
    const HttpServer server(HttpReply{.body = body});
    EXPECT_TRUE(refuses(options(server), {server.url("/toy.csv"), "removed"})) << body;
    EXPECT_EQ(cached(), Names{}) << body;
  }
}

TEST_F(FetchTest, DamagedZipIsRemoved) {
  const std::string zip = make_zip({{"toy/ml_toy.csv", dyglib_table()}});
  std::string flipped = zip;
  flipped[zip.size() / 2] = static_cast<char>(~flipped[zip.size() / 2]);
  for (const std::string& body : {zip.substr(0, zip.size() / 2), flipped, zip.substr(0, 10)}) {
    const HttpServer server(HttpReply{.body = body});
    EXPECT_TRUE(refuses(options(server), {"the archive is damaged", "removed"}));
    EXPECT_EQ(cached(), Names{});
  }
}

TEST_F(FetchTest, ZipEntriesStayInside) {
  const Names evil = {"../evil", "toy/../../evil", (folder_ / "evil").string()};
  for (const std::string& name : evil) {
    const HttpServer server(
        HttpReply{.body = make_zip({{"toy.csv", jodie_table()}, {name, "evil"}})});
    EXPECT_TRUE(refuses(options(server), {name, "outside"}));
    EXPECT_EQ(cached(), Names{});
    EXPECT_EQ(names_in(folder_.path()), Names{"cache"});
  }
}

TEST_F(FetchTest, ZipEntriesAreFilesOrFolders) {
  const HttpServer server(
      HttpReply{.body = make_zip({{"toy.csv", jodie_table()}, {"link", "/etc/passwd", AE_IFLNK}})});
  EXPECT_TRUE(refuses(options(server), {"'link' is neither file nor folder"}));
  EXPECT_EQ(cached(), Names{});
}

TEST_F(FetchTest, ZipThatLibarchiveCannotUnpackIsKeptForTheUser) {
  // Deflate64, as Windows makes it: method 9 at the local and the central header.
  std::string zip = make_zip({{"toy.csv", jodie_table()}}, "store");
  zip[8] = 9;
  zip[zip.rfind("PK\x01\x02") + 10] = 9;
  const HttpServer server(HttpReply{.body = zip});
  EXPECT_TRUE(refuses(options(server, "/toy.zip"),
                      {(cache_ / "toy.zip").string(), "nsupported", "by hand"}));
  EXPECT_EQ(read_bytes(cache_ / "toy.zip"), zip);
}

TEST_F(FetchTest, AFileThatIsThereIsTakenAndKept) {
  const TemporaryFolder folder;
  const FetchOptions from_table{.cache = folder / "cache",
                                .file = folder.write("toy.csv", jodie_table())};
  const Dataset dataset = fetch_network(kToy, from_table);
  EXPECT_EQ(dataset.name, "Toy");
  EXPECT_EQ(dataset.source, from_table.file.string());
  EXPECT_EQ(dataset.events.size(), kEvents);
  const FetchOptions wrong{.cache = folder / "cache",
                           .file = folder.write("other.csv", "src,dst,time\n1,2,3\n")};
  EXPECT_TRUE(fails([&] { fetch_network(kToy, wrong); },
                    {wrong.file.string(), "is not the network Toy", "it has 1 events"}));
  EXPECT_TRUE(std::filesystem::exists(wrong.file));
  const FetchOptions missing{.cache = folder / "cache", .file = folder / "missing.csv"};
  EXPECT_TRUE(fails([&] { fetch_network(kToy, missing); }, {"missing.csv", "No such file"}));
}

TEST_F(FetchTest, UnreachableServer) {
  const std::string url = fmt::format("http://127.0.0.1:{}/toy.csv", HttpServer::closed_port());
  EXPECT_TRUE(refuses({.cache = cache_, .url = url}, {url, "cannot get", "--url"}));
  EXPECT_EQ(cached(), Names{});
}

TEST_F(FetchTest, SilentServerIsLeft) {
  const HttpServer server(HttpReply{.body = jodie_table(), .etag = "\"1\"", .stall_after = 50});
  FetchOptions fetch = options(server);
  fetch.download.stall_timeout = 1s;
  EXPECT_TRUE(refuses(fetch, {"50 of", "the rest"}));
  EXPECT_EQ(cached(), (Names{"toy.csv.origin", "toy.csv.part"}));
}

TEST_F(FetchTest, InterruptionLeavesNothingThatLooksFinished) {
  struct Interrupted : std::exception {};
  const HttpServer server(HttpReply{.body = jodie_table(), .etag = "\"1\"", .pause = 5ms});
  FetchOptions fetch = options(server);
  fetch.download.retries = 5;
  fetch.download.progress = [&](std::int64_t received, std::int64_t) {
    EXPECT_FALSE(std::filesystem::exists(cache_ / "toy.csv"));
    if (received > 2000) throw Interrupted();
  };
  EXPECT_THROW(fetch_network(kToy, fetch), Interrupted);
  EXPECT_EQ(cached(), (Names{"toy.csv.origin", "toy.csv.part"}));

  fetch.download.progress = {};
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_NE(server.requests().at(1).header("range"), "");
}

TEST_F(FetchTest, OneDownloadOfAFileAtATime) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  FetchOptions fetch = options(server);
  const FetchOptions other = fetch;
  fetch.download.progress = [&](std::int64_t, std::int64_t) {
    EXPECT_TRUE(refuses(other, {"is being downloaded already"}));
  };
  fetch_network(kToy, fetch);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(FetchTest, RedirectionsAreFollowed) {
  const HttpServer server([](const HttpRequest& request) {
    if (request.path != "/there/file") return HttpReply{.status = 302, .location = "/there/file"};
    return HttpReply{
        .body = jodie_table(), .etag = "\"1\"", .close_after = request.number == 1 ? 3000 : -1};
  });
  FetchOptions fetch = options(server);
  fetch.download.retries = 1;
  const Dataset dataset = fetch_network(kToy, fetch);
  EXPECT_EQ(dataset.source, fetch.url);
  EXPECT_EQ(read_bytes(cache_ / "toy.csv"), jodie_table());
  EXPECT_EQ(server.requests().at(3).header("range"), "bytes=3000-");
}

TEST_F(FetchTest, RedirectionsAwayFromTheWebAreNot) {
  const std::string target = folder_.write("toy.csv", jodie_table()).string();
  const HttpServer server(HttpReply{.status = 302, .location = "file://" + target});
  EXPECT_TRUE(refuses(options(server), {"cannot get", "file"}));
  EXPECT_EQ(cached(), Names{});
}

TEST_F(FetchTest, EndlessRedirectionsEnd) {
  const HttpServer server(HttpReply{.status = 302, .location = "/toy.csv"});
  EXPECT_TRUE(refuses(options(server), {"cannot get", "redirects"}));
}

TEST_F(FetchTest, MirrorFolderHoldsAFileOfTheSameName) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  const Dataset dataset = fetch_network(kToy, options(server, "/mirror/"));
  EXPECT_EQ(server.requests().at(0).path, "/mirror/toy.csv");
  EXPECT_EQ(dataset.source, server.url("/mirror/toy.csv"));
  EXPECT_EQ(cached(), (Names{"toy.csv", "toy.csv.origin"}));
}

TEST_F(FetchTest, AddressWithoutAFileNameUsesTheNetworks) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  fetch_network(kToy, options(server, "?id=5"));
  EXPECT_EQ(cached(), (Names{"Toy", "Toy.origin"}));
}

TEST_F(FetchTest, OtherAddressesAreMistakesOfUsage) {
  for (const char* url : {"ftp://127.0.0.1/toy.csv", "file:///etc/passwd", "toy.csv", "http://"}) {
    EXPECT_TRUE(fails<UsageError>([&] { fetch_network(kToy, {.cache = cache_, .url = url}); },
                                  {url, "http"}));
  }
  EXPECT_EQ(cached(), Names{});
}

TEST_F(FetchTest, CacheThatCannotBeWrittenIsNamed) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  FetchOptions fetch = options(server);
  fetch.cache = folder_.write("occupied", "x");
  EXPECT_TRUE(refuses(fetch, {"cannot create", "occupied"}));
}

TEST_F(FetchTest, ProxiesDoNotStandBeforeThisMachine) {
  const HttpServer server(HttpReply{.body = jodie_table()});
  ::setenv("http_proxy", fmt::format("http://127.0.0.1:{}", HttpServer::closed_port()).c_str(), 1);
  EXPECT_NO_THROW(fetch_network(kToy, options(server)));
  ::unsetenv("http_proxy");
}

TEST(CatalogTest, HasTheNetworksOfThePaper) {
  EXPECT_EQ(catalog().size(), 12U);
  for (const CatalogEntry& entry : catalog()) {
    const Address address = parse_address(std::string(entry.url));
    EXPECT_FALSE(address.file.empty()) << entry.name;
    EXPECT_EQ(&find_network(entry.name), &entry);
    EXPECT_GT(entry.events, entry.nodes) << entry.name;
    // The paper's |V| has a row of padding, but not for these two.
    const bool is_padded = entry.name != "MOOC" && entry.name != "LASTFM";
    EXPECT_EQ(entry.paper_nodes == entry.nodes + 1, is_padded) << entry.name;
  }
  EXPECT_EQ(parse_address(std::string(find_network("uci").url)).file, "uci.zip");
}

TEST(CatalogTest, NamesAreFoundInAnyCase) {
  EXPECT_EQ(find_network("wiki").name, "WIKI");
  EXPECT_EQ(find_network("UNTRADE").name, "UNtrade");
  EXPECT_TRUE(fails<UsageError>([] { find_network("flihgts"); },
                                {"unknown network 'flihgts'", "did you mean 'Flights'", "uci"}));
  EXPECT_THROW(find_network(""), UsageError);
}

TEST(CatalogTest, DensityNodesNeedNameAndEvents) {
  EXPECT_EQ(published_density_nodes("MOOC", 411749), 7047);
  EXPECT_EQ(published_density_nodes("mooc", 411749), 7047);
  EXPECT_EQ(published_density_nodes("uci", 59835), 1900);
  EXPECT_EQ(published_density_nodes("mooc", 411748), 0);
  EXPECT_EQ(published_density_nodes("uci", 411749), 0);
  EXPECT_EQ(published_density_nodes("", 411749), 0);
}

TEST_F(FetchTest, ZipThatUnpacksToTooMuchIsRefused) {
  const std::string zip =
      make_zip({{"toy.csv", jodie_table()}, {"zeros.npy", std::string(3'000'000, '\0')}});
  ASSERT_LT(zip.size(), 20'000U);
  const HttpServer server(HttpReply{.body = zip});
  FetchOptions fetch = options(server, "/toy.zip");
  fetch.unpack.bytes = 1'000'000;
  EXPECT_TRUE(refuses(fetch, {"toy.zip unpacks to more than expected", "--unpack-limit"}));
  EXPECT_EQ(cached(), (Names{"toy.zip", "toy.zip.origin"})) << "it is whole: a limit may be raised";
  fetch.unpack.bytes = 4'000'000;
  EXPECT_EQ(fetch_network(kToy, fetch).name, kToy.name);
}

TEST_F(FetchTest, LimitsOfUnpackingFollowTheSizeOfTheArchive) {
  const UnpackLimits limits;
  constexpr std::int64_t kMega = 1 << 20;
  EXPECT_EQ(limits.bytes_of(100), 256 * kMega);
  EXPECT_EQ(limits.bytes_of(7 * kMega), 350 * kMega);
  EXPECT_EQ(limits.bytes_of(std::int64_t{1} << 62), 20 * 1024 * kMega);
  EXPECT_EQ(UnpackLimits{.bytes = 5}.bytes_of(7 * kMega), 5);
}

TEST_F(FetchTest, ZipWithTooManyOrRepeatedEntriesIsRemoved) {
  std::vector<ZipEntry> many = {{"toy.csv", jodie_table()}};
  for (int i = 0; i < 1000; ++i) many.push_back({std::to_string(i), "x"});
  const HttpServer crowd(HttpReply{.body = make_zip(many)});
  EXPECT_TRUE(refuses(options(crowd), {"more than 1000 entries", "removed"}));
  EXPECT_EQ(cached(), Names{});
  const HttpServer twice(
      HttpReply{.body = make_zip({{"toy.csv", jodie_table()}, {"toy.csv", "x"}})});
  EXPECT_TRUE(refuses(options(twice), {"'toy.csv' is there twice", "removed"}));
  EXPECT_EQ(cached(), Names{});
}

}  // namespace
}  // namespace curnm
