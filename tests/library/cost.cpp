// What a run costs in C++, beside the same in Python (scripts/python_cost.sh): for every line of
// standard input one run of the scenario file, from its text to its answer; prints its ns.
//   library_cost FILE

#include <chrono>
#include <cstdio>
#include <fstream>
#include <headroom/headroom.hpp>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  using namespace headroom::api;
  using Clock = std::chrono::steady_clock;
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Simulator simulator;
  for (std::string line; std::getline(std::cin, line);) {
    const Clock::time_point begin = Clock::now();
    {
      const RunAnswer run = simulator.run(Scenario::from_json(text), {.tables = true});
      if (!run.started) return 1;
    }
    const std::chrono::nanoseconds taken = Clock::now() - begin;
    std::printf("%lld\n", static_cast<long long>(taken.count()));
    std::fflush(stdout);
  }
}
