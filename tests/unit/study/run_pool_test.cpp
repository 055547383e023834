#include "sim/study/run_pool.hpp"

#include <catch2/catch.hpp>
#include <set>

namespace headroom::run_pool_test {
namespace {

using Pool = RunPool<int, int>;
constexpr std::chrono::milliseconds kPatience{1000};

std::set<int> take_all(Pool& pool) {
  std::set<int> taken;
  while (!pool.is_over()) {
    if (const auto made = pool.take(kPatience)) taken.insert(*made);
  }
  return taken;
}

TEST_CASE("every job that is asked for is made once, by any number of threads", "[run_pool]") {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    Pool pool(threads, [](int job, const std::atomic<bool>*) { return std::optional(job * job); });
    CHECK(pool.is_over());
    constexpr int kJobs = 1000;  // more than may wait to be taken
    for (int job = 0; job < kJobs; ++job) pool.ask(job);
    const std::set<int> taken = take_all(pool);
    CHECK(taken.size() == kJobs);
    CHECK(*taken.rbegin() == (kJobs - 1) * (kJobs - 1));
    pool.ask(-1);  // it goes on
    CHECK(take_all(pool) == std::set<int>{1});
  }
}

TEST_CASE("a pool that is stopped begins nothing, and forgets what is cut short", "[run_pool]") {
  std::atomic<int> begun{0};
  Pool pool(2, [&](int job, const std::atomic<bool>* stop) -> std::optional<int> {
    ++begun;
    while (!stop->load()) std::this_thread::yield();
    return job;
  });
  for (int job = 0; job < 100; ++job) pool.ask(job);
  while (begun.load() < 2) std::this_thread::yield();
  pool.stop();
  while (!pool.is_over()) CHECK_FALSE(pool.take(kPatience));
  pool.ask(5);
  CHECK(pool.is_over());
  CHECK(begun.load() == 2);
}

}  // namespace
}  // namespace headroom::run_pool_test
