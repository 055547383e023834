#include "sim/server/sleep_mode.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace headroom::sleep_mode_test {
namespace {

constexpr SleepTimes kTimes{.offload_ns = 10, .reload_ns = 100};

class Diary final : public SleepListener {
 public:
  void on_abort() override { lines.emplace_back("abort"); }
  void on_freeze(bool frozen) override { lines.emplace_back(frozen ? "freeze" : "thaw"); }
  void on_cache_lost() override { lines.emplace_back("cache lost"); }
  void on_awake() override { lines.emplace_back("awake"); }
  void on_done(std::uint64_t id) override { lines.emplace_back("done " + std::to_string(id)); }
  std::vector<std::string> lines;
};
using Lines = std::vector<std::string>;

TEST_CASE("weights are copied to the host and back", "[server]") {
  Diary diary;
  SleepMode mode(kTimes, diary);
  CHECK(mode.takes_requests());
  CHECK(mode.next_ns() == kNever);
  mode.command({.level = 1});
  CHECK(mode.next_ns() == 0);
  mode.advance(5, 3);
  CHECK(diary.lines == Lines{"abort"});
  CHECK_FALSE(mode.takes_requests());
  CHECK(mode.next_ns() == 15);
  mode.advance(15, 0);
  CHECK(diary.lines == Lines{"abort", "cache lost", "done 1"});
  CHECK(mode.is_sleeping());
  mode.command({.sleeps = false});
  mode.advance(20, 0);
  CHECK(mode.next_ns() == 30);
  mode.advance(30, 0);
  CHECK(diary.lines == Lines{"abort", "cache lost", "done 1", "awake", "done 2"});
  CHECK(mode.takes_requests());
}

TEST_CASE("it sleeps until all of it is back", "[server]") {
  Diary diary;
  SleepMode mode(kTimes, diary);
  mode.command({.level = 2});
  mode.advance(0, 0);  // weights are dropped at once
  CHECK(mode.is_sleeping());
  mode.command({.sleeps = false, .weights = false});
  mode.advance(1, 0);
  CHECK(mode.is_sleeping());
  mode.command({.sleeps = false, .kv_cache = false});
  mode.advance(2, 0);
  CHECK(mode.next_ns() == 102);  // read from storage
  mode.advance(102, 0);
  CHECK(mode.takes_requests());
}

TEST_CASE("answers are waited for before the copies begin", "[server]") {
  Diary diary;
  SleepMode mode(kTimes, diary);
  mode.command({.level = 1, .with = SleepWith::wait});
  mode.advance(0, 2);
  CHECK_FALSE(mode.takes_requests());
  CHECK(mode.next_ns() == kNever);
  mode.command({.sleeps = false});  // waits for its turn
  mode.advance(50, 1);
  CHECK(diary.lines.empty());
  mode.advance(60, 0);
  CHECK(mode.next_ns() == 70);
  mode.advance(70, 0);
  mode.advance(80, 0);
  CHECK(diary.lines == Lines{"cache lost", "done 1", "awake", "done 2"});
}

TEST_CASE("no time passes for answers that are kept", "[server]") {
  Diary diary;
  SleepMode mode(kTimes, diary);
  mode.command({.level = 0, .with = SleepWith::keep});
  mode.command({.level = 0, .with = SleepWith::keep});
  mode.advance(0, 2);
  CHECK(diary.lines == Lines{"freeze", "done 1", "done 2"});
  mode.command({.sleeps = false});
  mode.advance(1, 2);
  CHECK(diary.lines == Lines{"freeze", "done 1", "done 2", "thaw", "awake", "done 3"});
}

}  // namespace
}  // namespace headroom::sleep_mode_test
