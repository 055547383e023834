// What a run costs in C++, beside the same in Python (scripts/python_cost.sh): for every line of
// standard input one run of the scenario file, from its text to its answer; prints its CPU time
// in us.
//   library_cost FILE

#include <cstdio>
#include <ctime>
#include <fstream>
#include <headroom/headroom.hpp>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  using namespace headroom::api;
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Simulator simulator;
  for (std::string line; std::getline(std::cin, line);) {
    const std::clock_t begin = std::clock();
    {
      const RunAnswer run = simulator.run(Scenario::from_json(text), {.tables = true});
      if (!run.started) return 1;
    }
    std::printf("%.0f\n", 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    std::fflush(stdout);
  }
}
