#include "workloads/merged_source.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"
#include "tests/unit/workloads/traffic_text.hpp"
#include "workloads/synthetic_source.hpp"

namespace headroom::test::merged_source_test {
namespace {

constexpr TimeNs kSecond = kNsPerSecond;

// Requests at given times; remembers who left.
class TimedSource final : public WorkloadSource {
 public:
  explicit TimedSource(std::vector<TimeNs> times, std::int32_t class_id)
      : times_(std::move(times)), class_id_(class_id) {}
  [[nodiscard]] TimeNs next_time() override { return at_ == times_.size() ? kNever : times_[at_]; }
  [[nodiscard]] Arrival take() override {
    return {.time_ns = times_[at_],
            .prompt_tokens = static_cast<std::int32_t>(++at_),
            .output_tokens = 1,
            .class_id = class_id_,
            .session = 5};
  }
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    left += fmt::format("{}:{}:{} ", index, static_cast<int>(outcome), now_ns);
  }

  std::string left;

 private:
  std::vector<TimeNs> times_;
  std::int32_t class_id_;
  std::size_t at_ = 0;
};

std::vector<std::unique_ptr<WorkloadSource>> list(std::unique_ptr<WorkloadSource> a,
                                                  std::unique_ptr<WorkloadSource> b) {
  std::vector<std::unique_ptr<WorkloadSource>> all;
  all.push_back(std::move(a));
  all.push_back(std::move(b));
  return all;
}

TrafficOptions talk(const std::string& prefix, std::int32_t class_id) {
  TrafficOptions options = sessions(40);
  options.stream_prefix = prefix;
  options.classes[0].class_id = class_id;
  options.classes[0].documents = {.count = 3, .tokens = fixed_tokens(500)};
  return options;
}

}  // namespace

TEST_CASE("requests of several sources come by time, of one time by source", "[workloads]") {
  MergedSource merged(list(std::make_unique<TimedSource>(std::vector<TimeNs>{3, 5, 5, 9}, 0),
                           std::make_unique<TimedSource>(std::vector<TimeNs>{1, 5, 7}, 1)));
  std::string order;
  while (merged.next_time() != kNever) {
    const TimeNs announced = merged.next_time();
    const Arrival a = merged.take();
    CHECK(a.time_ns == announced);
    order += fmt::format("{}.{} ", a.class_id, a.prompt_tokens);
  }
  CHECK(order == "1.1 0.1 0.2 0.3 1.2 1.3 0.4 ");
  CHECK(merged.requests_in_flight() == 7);
}

TEST_CASE("each source is told of its own requests by its own numbers", "[workloads]") {
  auto first = std::make_unique<TimedSource>(std::vector<TimeNs>{3, 5, 5, 9}, 0);
  auto second = std::make_unique<TimedSource>(std::vector<TimeNs>{1, 5, 7}, 1);
  TimedSource& a = *first;
  TimedSource& b = *second;
  MergedSource merged(list(std::move(first), std::move(second)));
  for (int i = 0; i < 7; ++i) static_cast<void>(merged.take());
  merged.on_done(6, Outcome::finished, 10);   // 0.4
  merged.on_done(0, Outcome::rejected, 11);   // 1.1
  merged.on_done(3, Outcome::cancelled, 12);  // 0.3
  merged.on_done(5, Outcome::finished, 13);   // 1.3
  CHECK(a.left == "3:1:10 2:3:12 ");
  CHECK(b.left == "0:2:11 2:1:13 ");
  CHECK(merged.requests_in_flight() == 3);
  CHECK_THROWS_AS(merged.on_done(6, Outcome::finished, 14), InternalError);
}

TEST_CASE("sessions of different sources stay apart", "[workloads]") {
  MergedSource merged(list(std::make_unique<TimedSource>(std::vector<TimeNs>{1}, 0),
                           std::make_unique<TimedSource>(std::vector<TimeNs>{2}, 1)));
  CHECK(merged.take().session == 5);
  CHECK(merged.take().session == mixed_id(1, 5));
  MergedSource plain(list(std::make_unique<SyntheticSource>(SyntheticOptions{}, 1),
                          std::make_unique<SyntheticSource>(SyntheticOptions{}, 2)));
  for (int i = 0; i < 20; ++i) CHECK(plain.take().session == kNoSession);
}

TEST_CASE("one source merged is that source", "[workloads]") {
  TrafficSource alone(talk("a/", 0), 4);
  std::vector<std::unique_ptr<WorkloadSource>> one;
  one.push_back(std::make_unique<TrafficSource>(talk("a/", 0), 4));
  MergedSource merged(std::move(one));
  const auto expected = serve(alone, after(kSecond));
  const auto all = serve(merged, after(kSecond));
  REQUIRE(all.size() == 160);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(text(all[i].arrival) == text(expected[i].arrival));
    CHECK(all[i].prefix == expected[i].prefix);
  }
}

TEST_CASE("merged sources send what each sends alone", "[workloads]") {
  // Services that depend on nothing else: so the sessions of both go on as if they were alone.
  std::map<std::int32_t, std::vector<std::string>> expected;
  for (const std::int32_t class_id : {0, 1}) {
    TrafficSource alone(talk(class_id == 0 ? "a/" : "b/", class_id), 4);
    for (const ServedRequest& r : serve(alone, after(2 * kSecond))) {
      expected[class_id].push_back(
          fmt::format("{} {} {}", r.arrival.time_ns, r.arrival.prompt_tokens, r.prefix.back().id));
    }
  }
  MergedSource merged(list(std::make_unique<TrafficSource>(talk("a/", 0), 4),
                           std::make_unique<TrafficSource>(talk("b/", 1), 4)));
  std::map<std::int32_t, std::vector<std::string>> all;
  std::map<std::int32_t, std::set<std::uint64_t>> ids;
  // `serve` checks that prefixes stay as they are until their requests leave.
  for (const ServedRequest& r : serve(merged, after(2 * kSecond))) {
    all[r.arrival.class_id].push_back(
        fmt::format("{} {} {}", r.arrival.time_ns, r.arrival.prompt_tokens, r.prefix.back().id));
    for (const PrefixSegment& piece : r.prefix) ids[r.arrival.class_id].insert(piece.id);
  }
  CHECK(all == expected);
  CHECK(merged.requests_in_flight() == 0);
  for (const std::uint64_t id : ids[0]) CHECK(ids[1].count(id) == 0);
}

}  // namespace headroom::test::merged_source_test
