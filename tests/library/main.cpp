// A program on the installed library: one option of the demo, several values.
//   library_example PATH VALUE [VALUE...]    e.g. engine.max_num_seqs 16 64

#include <cstdio>
#include <headroom/headroom.hpp>

int main(int argc, char** argv) {
  using namespace headroom::api;
  const Simulator simulator;
  try {
    for (int i = 2; i < argc; ++i) {
      Scenario scenario = Scenario::ready("demo");
      scenario.set(argv[1], argv[i]);
      const RunAnswer run = simulator.run(scenario);
      std::printf("%s: %.0f tokens/s, digest %s\n", argv[i], run.metrics.at("output_throughput"),
                  run.digest.c_str());
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.about().pointer.c_str(), error.what());
    return 2;
  }
}
