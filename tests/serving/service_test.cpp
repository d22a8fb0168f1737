#include "curnm/serving/service.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "curnm/data/synthetic.h"
#include "support/json_schema.h"
#include "support/temporary_folder.h"
#include "support/training.h"

namespace curnm {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

const Dataset& network() {
  static const Dataset made =
      generate({.nodes = 40, .events = 800, .communities = 4, .one_mode = true, .seed = 5}, "net");
  return made;
}
const TrainedModel& trained() {
  static const TrainedModel made = [] {
    TrainingSession session =
        testing::session_of(testing::quick("tgn", {{"epochs", "1"}}), network());
    testing::train(session);
    return session.trained_model();
  }();
  return made;
}

struct Answer {
  int status = 0;
  json body;
};

/// A service without a network in between.
struct Fixture {
  explicit Fixture(const std::filesystem::path& state, ServiceOptions options = {})
      : service(trained(), network(), with_state(options, state),
                [](const std::string&) { return trained(); }) {}

  static ServiceOptions with_state(ServiceOptions options, const std::filesystem::path& state) {
    options.state = state;
    return options;
  }

  Answer ask(const std::string& method, const std::string& target, const std::string& body = "",
             const std::string& authorization = "") {
    std::promise<HttpResponse> promise;
    service.handle({method, target, body, authorization},
                   [&](HttpResponse response) { promise.set_value(std::move(response)); });
    const HttpResponse response = promise.get_future().get();
    const bool is_json = response.type == "application/json";
    return {response.status, is_json ? json::parse(response.body) : json(response.body)};
  }
  std::string refusal(const std::string& method, const std::string& target,
                      const std::string& body = "") {
    const Answer answer = ask(method, target, body);
    if (!answer.body.contains("error")) return std::to_string(answer.status);
    return std::to_string(answer.status) + " " + answer.body["error"]["code"].get<std::string>();
  }
  std::string tell(const std::string& src, const std::string& dst, double time) {
    const json body = {{"events", {{{"src", src}, {"dst", dst}, {"time", time}}}}};
    return refusal("POST", "/v1/events", body.dump());
  }

  Service service;
};

double after() { return network().events.time.back() + 1; }

TEST(ServiceTest, EveryMistakeHasItsCode) {
  const TemporaryFolder folder;
  Fixture server(folder.path() / "state");
  const auto events = [&](const std::string& body) {
    return server.refusal("POST", "/v1/events", body);
  };
  EXPECT_EQ(events("{"), "400 bad_json");
  EXPECT_EQ(events(""), "400 bad_json");
  EXPECT_EQ(events("[]"), "400 bad_type");
  EXPECT_EQ(events("{}"), "400 missing_key");
  EXPECT_EQ(events(R"({"events":[]})"), "400 bad_value");
  EXPECT_EQ(events(R"({"events":{}})"), "400 bad_type");
  EXPECT_EQ(events(R"({"events":[{"src":"1","dst":"2"}]})"), "400 missing_key");
  EXPECT_EQ(events(R"({"events":[{"src":"1","dst":"2","time":NaN}]})"), "400 bad_json");
  EXPECT_EQ(events(R"({"events":[{"src":"1","dst":"2","time":"1"}]})"), "400 bad_type");
  EXPECT_EQ(events(R"({"events":[{"src":"1","dst":"2","time":1e300}]})"), "400 bad_value");
  EXPECT_EQ(events(R"({"events":[{"src":1.5,"dst":"2","time":1}]})"), "400 bad_type");
  EXPECT_EQ(events(R"({"events":[{"src":"","dst":"2","time":1}]})"), "400 bad_value");
  EXPECT_EQ(events(R"({"events":[{"src":"1","dst":"2","time":1,"x":1}]})"), "400 unknown_key");
  EXPECT_EQ(events(R"({"events":[{"src":"1","dst":"2","time":1,"features":[1]}]})"),
            "400 feature_width");
  EXPECT_EQ(server.tell("1", "2", 0), "409 late");
  EXPECT_EQ(server.tell("1", "99999", after()), "400 unknown_node");
  EXPECT_EQ(server.tell("1", "x", after()), "400 unknown_node");
  EXPECT_EQ(server.refusal("GET", "/v1/topk"), "400 missing_key");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=1&k=0"), "400 bad_value");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=1&k=1001"), "400 bad_value");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=1&k=x"), "400 bad_value");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=1&time=nan"), "400 bad_value");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=1&src=2"), "400 bad_target");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=%zz"), "400 bad_target");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=1&question=who"), "400 bad_value");
  EXPECT_EQ(server.refusal("GET", "/v1/topk?src=nobody"), "404 unknown_node");
  EXPECT_EQ(server.refusal("GET", "/v1/nodes/nobody"), "404 unknown_node");
  EXPECT_EQ(server.refusal("POST", "/v1/score", R"({"pairs":[]})"), "400 missing_key");
  EXPECT_EQ(server.refusal("DELETE", "/v1/topk"), "405 method_not_allowed");
  EXPECT_EQ(server.refusal("GET", "/v2"), "404 not_found");
  EXPECT_EQ(server.ask("GET", "/healthz").body["events"], 800) << "nothing has been applied";
}

TEST(ServiceTest, ARequestIsAcceptedAsAWholeOrNotAtAll) {
  const TemporaryFolder folder;
  Fixture server(folder.path() / "state");
  json body = {{"events", json::array()}};
  body["events"].push_back({{"src", "1"}, {"dst", "2"}, {"time", after() + 1}});
  body["events"].push_back({{"src", "1"}, {"dst", "3"}, {"time", after()}});
  EXPECT_EQ(server.refusal("POST", "/v1/events", body.dump()), "400 not_sorted");
  EXPECT_EQ(server.ask("GET", "/healthz").body["events"], 800);
}

TEST(ServiceTest, WhatWasAcknowledgedIsThereAfterARestart) {
  const TemporaryFolder folder;
  json before;
  const std::string question = "/v1/topk?src=40&k=5";
  {
    Fixture server(folder.path() / "state", {.late = Late::kAccept, .snapshot_bytes = 3000});
    for (int i = 0; i < 250; ++i) {
      ASSERT_EQ(server.tell("40", std::to_string(i % 30), after() + i), "200");
    }
    EXPECT_EQ(server.tell("1", "2", 1), "200") << "late, and kept";
    before = server.ask("GET", question).body;
    EXPECT_EQ(before["events"], 1050);
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "state" / "snapshot"));
  Fixture again(folder.path() / "state", {.late = Late::kAccept});
  EXPECT_EQ(again.ask("GET", question).body, before);
  EXPECT_EQ(again.ask("GET", "/healthz").body["late"], 1);
}

TEST(ServiceTest, WhatIsForgottenIsSaidAndStaysSoAfterARestart) {
  const TemporaryFolder folder;
  const ServiceOptions options{.keep = {.events = 100}};
  const std::string past = fmt::format("/v1/topk?src=1&k=3&time={}", network().events.time[400]);
  json present;
  {
    Fixture server(folder.path() / "state", options);
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(server.tell("1", std::to_string(2 + i % 30), after() + i), "200");
    }
    EXPECT_EQ(server.refusal("GET", past), "410 forgotten");
    present = server.ask("GET", "/v1/topk?src=1&k=3").body;
    EXPECT_EQ(present["events"], 1100) << "also those that are forgotten are counted";
  }
  Fixture again(folder.path() / "state", options);
  EXPECT_EQ(again.refusal("GET", past), "410 forgotten");
  EXPECT_EQ(again.ask("GET", "/v1/topk?src=1&k=3").body, present);
  Fixture everything(folder.path() / "state of another");
  EXPECT_EQ(everything.refusal("GET", past), "200");
}

TEST(ServiceTest, ATokenIsAskedForWhereThereIsOne) {
  const TemporaryFolder folder;
  Fixture server(folder.path() / "state", {.token = "a long enough secret"});
  EXPECT_EQ(server.ask("GET", "/v1/topk?src=1").status, 401);
  EXPECT_EQ(server.ask("GET", "/v1/topk?src=1", "", "Bearer wrong").status, 401);
  EXPECT_EQ(server.ask("GET", "/v1/topk?src=1", "", "Bearer a long enough secret").status, 200);
  EXPECT_EQ(server.ask("GET", "/healthz").status, 200);
}

TEST(ServiceTest, TheDescriptionHasTheRoutesAndNoOthers) {
  const json paths = json::parse(openapi_text())["paths"];
  std::size_t described = 0;
  for (const auto& [path, methods] : paths.items()) described += methods.size();
  EXPECT_EQ(described, service_routes().size());
  for (const Route& route : service_routes()) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    ASSERT_TRUE(paths.contains(std::string(route.path))) << route.path;
    ASSERT_TRUE(paths[std::string(route.path)].contains(method)) << route.path;
    EXPECT_EQ(paths[std::string(route.path)][method]["operationId"], route.name);
  }
}

TEST(ServiceTest, AnswersAreAsDescribed) {
  const TemporaryFolder folder;
  Fixture server(folder.path() / "state");
  const json paths = json::parse(openapi_text())["paths"];
  const auto wrong = [&](const std::string& method, const std::string& path,
                         const std::string& query, const std::string& body = "") {
    const Answer answer = server.ask(method, path + query, body);
    EXPECT_EQ(answer.status, 200) << path << query;
    const std::string key = method == "GET" ? "get" : "post";
    return testing::JsonSchema(
               paths[path][key]["responses"]["200"]["content"]["application/json"]["schema"])
        .error(answer.body);
  };
  EXPECT_EQ(wrong("GET", "/v1/topk", "?src=1&k=3"), "");
  EXPECT_EQ(wrong("GET", "/v1/topk", "?src=1&k=3&explain=1"), "");
  EXPECT_EQ(wrong("POST", "/v1/score", "", R"({"pairs":[{"src":"1","dst":"2"}]})"), "");
  EXPECT_EQ(wrong("GET", "/healthz", ""), "");
}

TEST(ServiceTest, AnswersSayWhyIfAsked) {
  const TemporaryFolder folder;
  Fixture server(folder.path() / "state");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(server.tell("40", "3", after() + i), "200");
  const json plain = server.ask("GET", "/v1/topk?src=40&k=40").body;
  const json answers = server.ask("GET", "/v1/topk?src=40&k=40&explain=1").body["answers"];
  int met = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_FALSE(plain["answers"][i].contains("why"));
    EXPECT_EQ(answers[i]["logit"], plain["answers"][i]["logit"]);
    const json& why = answers[i]["why"];
    EXPECT_EQ(why["moved"].size(), 2U) << "the embeddings, which is all that additive sees";
    const std::string words = why["words"];
    if (answers[i]["dst"] != "3") {
      EXPECT_TRUE(words.starts_with("never met; 40 was last active")) << words;
      continue;
    }
    ++met;
    EXPECT_EQ(why["met"], 3);
    EXPECT_EQ(why["last_met"], after() + 2);
    EXPECT_TRUE(words.find("3 times; 40 was last active") != std::string::npos) << words;
  }
  EXPECT_EQ(met, 1);
}

TEST(ServiceTest, AModelIsExchangedWhileAnswersGoOn) {
  const TemporaryFolder folder;
  Fixture server(folder.path() / "state");
  for (int i = 0; i < 20; ++i) ASSERT_EQ(server.tell("40", "3", after() + i), "200");
  const json before = server.ask("GET", "/v1/topk?src=40&k=5").body;
  EXPECT_EQ(server.ask("POST", "/v1/model").status, 202);
  while (server.ask("GET", "/healthz").body["exchanging"]) {
    EXPECT_EQ(server.ask("GET", "/v1/topk?src=40&k=5").body, before);
  }
  EXPECT_EQ(server.service.exchange_news(), "the model is now ");
  EXPECT_EQ(server.ask("GET", "/v1/topk?src=40&k=5").body, before) << "the same model, replayed";
  EXPECT_EQ(server.tell("40", "3", after() + 30), "200");
}

/// What a server sends back for these bytes, until it closes.
std::string exchange_bytes(int port, const std::string& sent) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string received;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    [[maybe_unused]] const auto written = ::send(socket, sent.data(), sent.size(), MSG_NOSIGNAL);
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = ::recv(socket, part.data(), part.size(), 0)) > 0;) {
      received.append(part.data(), static_cast<std::size_t>(n));
    }
  }
  ::close(socket);
  return received;
}

TEST(HttpServerTest, LimitsAreAnsweredAndDoNotStopIt) {
  HttpLimits limits{.body = 100, .header = 500, .connections = 3, .threads = 1};
  limits.header_time = limits.idle_time = std::chrono::milliseconds(300);
  HttpServer server("127.0.0.1", 0, limits, [](const HttpRequest& request, const Respond& respond) {
    respond({.body = request.body, .type = "text/plain"});
  });
  const auto send = [&](const std::string& text) { return exchange_bytes(server.port(), text); };
  const std::string end = "Connection: close\r\n\r\n";
  EXPECT_NE(send("POST / HTTP/1.1\r\nContent-Length: 2\r\n" + end + "hi").find("200 OK"),
            std::string::npos);
  EXPECT_NE(send("POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n" + end).find("body_too_large"),
            std::string::npos);
  EXPECT_NE(send("GET / HTTP/1.1\r\nX: " + std::string(600, 'x')).find("header_too_large"),
            std::string::npos);
  EXPECT_NE(send("nonsense\r\n\r\n").find("bad_http"), std::string::npos);
  EXPECT_EQ(send("GET / HTTP/1.1\r\nX:"), "") << "a header that never ends";
  EXPECT_EQ(send(""), "") << "a connection that says nothing";
  std::vector<std::thread> idle;
  for (int i = 0; i < 3; ++i) idle.emplace_back([&] { send(""); });
  while (server.counts().connections < 3) std::this_thread::yield();
  EXPECT_NE(send("GET / HTTP/1.1\r\n" + end).find("too_many_connections"), std::string::npos);
  for (std::thread& one : idle) one.join();
  EXPECT_NE(send("GET / HTTP/1.1\r\n" + end).find("200 OK"), std::string::npos);
}

TEST(HttpServerTest, OverloadIsSaidAndDrainingFinishesWhatWasAsked) {
  std::promise<void> go_on;
  const std::shared_future<void> may_go_on(go_on.get_future());
  std::atomic<int> begun = 0;
  HttpServer server("127.0.0.1", 0, {.queue = 1, .threads = 1},
                    [&](const HttpRequest&, const Respond& respond) {
                      ++begun;
                      may_go_on.wait();
                      respond({.body = "{}"});
                    });
  const std::string request = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
  std::vector<std::future<std::string>> asked;
  const auto ask = [&] {
    asked.push_back(
        std::async(std::launch::async, [&] { return exchange_bytes(server.port(), request); }));
  };
  ask();
  while (begun == 0) std::this_thread::yield();
  ask();
  while (server.counts().queued == 0) std::this_thread::yield();
  const std::string refused = exchange_bytes(server.port(), request);
  EXPECT_NE(refused.find("429"), std::string::npos);
  EXPECT_NE(refused.find("Retry-After: 1"), std::string::npos);
  std::thread drain([&] { server.drain(std::chrono::seconds(20)); });
  go_on.set_value();
  for (auto& one : asked) EXPECT_NE(one.get().find("200 OK"), std::string::npos);
  drain.join();
  EXPECT_EQ(server.counts().connections, 0);
}

}  // namespace
}  // namespace curnm
