// An option that a command lacks, as --set takes it: only at paths that its kind of file has.

#include <catch2/catch.hpp>

#include "sim/app/command_line_error.hpp"

namespace headroom::setting_of_flag_test {

TEST_CASE("an option that a command lacks is offered as a setting of a scenario") {
  CHECK(setting_of_flag("--max-num-seqs", "8", false) == "engine.max_num_seqs=8");
  CHECK(setting_of_flag("--seed", "3", false) == "seed=3");
  CHECK(setting_of_flag("--model", "llama-3.1-8b", false) == "model=llama-3.1-8b");
  CHECK(setting_of_flag("--device", "l40s", false) == "device=l40s");
}

TEST_CASE("words for traffic are offered where --set takes them, not at options that end so") {
  // fleet.admission.rate ends so, too.
  CHECK(setting_of_flag("--rate", "200", false) == "workload.arrivals.request_rate=200");
  CHECK(setting_of_flag("--in", "8k", false) == "workload.prompt.tokens=8k");
}

TEST_CASE("a name of several options, of none or of a section has no setting") {
  CHECK(setting_of_flag("--sigma", "1", false).empty());
  CHECK(setting_of_flag("--no-such-flag", "1", false).empty());
  CHECK(setting_of_flag("--workload", "1", false).empty());
}

TEST_CASE("a plan has its own settings, and of its traffic those of a workload") {
  CHECK(setting_of_flag("--max-replicas", "9", true) == "max_replicas=9");
  CHECK(setting_of_flag("--tensor-parallel-size", "1,2", true) == "tensor_parallel_size=[1,2]");
  CHECK(setting_of_flag("--duration-s", "60", true) == "traffic.scenario.workload.duration_s=60");
  CHECK(setting_of_flag("--users", "20", true) == "traffic.scenario.workload.closed_loop.users=20");
  // A scenario has them, and a plan does not, or as lists of objects.
  CHECK(setting_of_flag("--max-num-seqs", "8", true).empty());
  CHECK(setting_of_flag("--fleet-admission-rate", "8", true).empty());
  CHECK(setting_of_flag("--instances", "8", true).empty());
  CHECK(setting_of_flag("--engines", "vllm", true).empty());
  CHECK(setting_of_flag("--traffic", "8", true).empty());
}

}  // namespace headroom::setting_of_flag_test
