#pragma once
// A run whose result files lie in a folder of their own, until the end of the test.

#include <fstream>
#include <sstream>
#include <string>

#include "sim/report/files/result_files.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom {

class WrittenRun {
 public:
  // `overlay`: JSON members, each with a comma in front, of a scenario of 40 requests whose steps
  // take 10 ms + 0.1 ms per prompt token + 1 ms per decoding row.
  explicit WrittenRun(const std::string& name, const std::string& overlay = "") {
    const std::string text = R"({"name": ")" + name + R"(", "model": "llama-3.1-8b",
      "device": "h100-sxm", "engine": {"max_model_len": 4096},
      "cost": {"level": "affine", "affine": {"step_us": 10000, "prompt_token_us": 100,
                                             "decode_token_us": 1000}},
      "slo": {"ttft_ms": 100},
      "workload": {"arrivals": {"process": "poisson", "request_rate": 20}, "num_requests": 40,
                   "prompt": {"law": "uniform", "min": 10, "max": 200},
                   "output": {"law": "uniform", "min": 1, "max": 20}})" +
                             overlay + "}";
    result_ = run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
    ResultDirectory directory(path());
    write_results(result_, judge_run(result_, Catalog::embedded()), "1.2.3", directory);
    directory.publish();
  }

  [[nodiscard]] std::string path() const { return folder_.path() + "/run"; }
  [[nodiscard]] std::string file(const std::string& name) const { return path() + "/" + name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::stringstream content;
    content << std::ifstream(file(name)).rdbuf();
    return content.str();
  }
  void overwrite(const std::string& name, const std::string& content) const {
    std::ofstream(file(name)) << content;
  }
  [[nodiscard]] const RunResult& result() const { return result_; }

 private:
  TempFolder folder_;
  RunResult result_;
};

}  // namespace headroom
