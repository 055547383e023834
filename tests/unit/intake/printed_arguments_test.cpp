// Arguments as engines print them at the start.

#include "sim/intake/printed_arguments.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/intake/from.hpp"
#include "sim/intake/printed_value.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::printed_arguments_test {
namespace {

using Sorted = nlohmann::json;  // compares objects whatever the order of their keys

Sorted sorted(const Json& json) { return Sorted::parse(json.dump()); }

PrintedStartup printed_in(const std::string& text) {
  const auto printed = scenario_from_printed(text, "server.log");
  REQUIRE(printed);
  return *printed;
}

bool notes_say(const FromResult& result, std::string_view part) {
  return std::ranges::any_of(result.notes, [part](const std::string& note) {
    return note.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("values as Python and Rust print them", "[printed_arguments]") {
  CHECK(sorted(printed_value("{'a': None, 'b': [1, -2.5], 'c': {'d': True}} tail").value) ==
        Sorted::parse(R"({"a": null, "b": [1, -2.5], "c": {"d": true}})"));
  CHECK(sorted(printed_value("Namespace(model='it\\'s', p=PosixPath('/x'), n=(), "
                             "k=<Kv.FP8: 'fp8'>, t=torch.bfloat16)")
                   .value) ==
        Sorted::parse(R"({"model": "it's", "p": "/x", "n": [], "k": "fp8", "t": "bfloat16"})"));
  CHECK(sorted(printed_value("Args {\n  id: \"a b\",\n  shards: Some(\n 2,\n ),\n  x: None,\n}")
                   .value) == Sorted::parse(R"({"id": "a b", "shards": 2, "x": null})"));
  CHECK(sorted(printed_value("[\"vllm\", 'serve']").value) ==
        Sorted::parse(R"(["vllm", "serve"])"));
}

TEST_CASE("a printed value that is cut anywhere is what was read of it", "[printed_arguments]") {
  const std::string whole = "{'a': [1, {'b': Some(x='y')}], 'c': <K.F: 'f'>, 'd': 'text'}";
  REQUIRE_FALSE(printed_value(whole).is_cut);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(printed_value(whole.substr(0, size)).is_cut);
  }
  // Neither half a number nor half a name.
  for (const char* cut : {"{'a': 1, 'b': ", "{'a': 1, 'b': 6", "{'a': 1, 'b': 6\n",
                          "{'a': 1, 'b': 'Qwen/Qw", "{'a': 1, 'b': <K.F: 'f"}) {
    CHECK(sorted(printed_value(cut).value) == Sorted::parse(R"({"a": 1})"));
  }
  CHECK(sorted(printed_value("N(a= , b=2)").value) == Sorted::parse(R"({"a": null, "b": 2})"));
  CHECK(printed_value(std::string(10000, '[')).is_cut);
}

TEST_CASE("vLLM prints the arguments that were given", "[printed_arguments]") {
  const PrintedStartup printed = printed_in(
      "INFO [utils.py:233] non-default args: {'model_tag': 'other/model', 'max_num_seqs': 1}\n"
      "\x1b[0;36m(APIServer pid=1)\x1b[0m INFO 11-02 10:00:01 [utils.py:233] non-default args: "
      "{'model_tag': 'Qwen/Qwen3-8B', 'host': '0.0.0.0', 'max_num_seqs': 8, "
      "'enable_prefix_caching': False, 'enforce_eager': True, 'api_key': ['secret'], "
      "'speculative_config': {'method': 'ngram', 'num_speculative_tokens': 3}}\n"
      "INFO 11-02 10:00:09 [other.py:1] done\n");
  CHECK_FALSE(printed.has_defaults);
  CHECK(sorted(printed.result.scenario) == Sorted::parse(R"({
    "model": "Qwen/Qwen3-8B",
    "engine": {"name": "vllm", "max_num_seqs": 8, "enable_prefix_caching": false,
      "enforce_eager": true,
      "speculative_config": {"method": "ngram", "num_speculative_tokens": 3}}})"));
  CHECK(printed.result.unknown_flags.empty());
  CHECK_FALSE(notes_say(printed.result, "secret"));
  CHECK_FALSE(notes_say(printed.result, "cut off"));
}

TEST_CASE("arguments that are cut off are said to be", "[printed_arguments]") {
  const PrintedStartup printed = printed_in(
      "non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'max_num_seqs': 8, 'max_model_l");
  CHECK(printed.result.scenario["engine"]["max_num_seqs"] == 8);
  CHECK(notes_say(printed.result, "cut off"));
}

TEST_CASE("SGLang and TGI print all arguments", "[printed_arguments]") {
  const PrintedStartup sglang = printed_in(
      "[2025-10-16 09:05:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=2, "
      "mem_fraction_static=0.85, attention_backend='fa3', log_level='info', quantization=None, "
      "disable_radix_cache=False, enable_dp_attention=False, cpu_offload_gb=0)\n");
  CHECK(sglang.has_defaults);
  CHECK(sglang.result.engine == "sglang");
  CHECK(sglang.result.scenario["model"] == "Qwen/Qwen3-8B");
  CHECK(sglang.result.scenario["engine"]["tensor_parallel_size"] == 2);
  CHECK(sglang.result.unknown_flags.empty());
  CHECK(sglang.result.ignored_flags.empty());

  const PrintedStartup old = printed_in(
      "INFO 03-23 05:00:57 [api_server.py:978] args: Namespace(subparser='serve', model_tag='m', "
      "task='auto', config_format=<ConfigFormat.AUTO: 'auto'>, enable_lora=False, max_loras=1, "
      "middleware=[], max_model_len=2048, dispatch_function=<function cmd at 0x7f>)\n");
  CHECK(old.result.scenario["model"] == "m");
  CHECK(old.result.scenario["engine"]["max_model_len"] == 2048);
  CHECK_FALSE(notes_say(old.result, "lora"));
  CHECK_FALSE(notes_say(old.result, "the engine chooses"));

  // On lines of their own, as docker compose shows them.
  const PrintedStartup tgi = printed_in(
      "tgi-1  | 2025-06-12T09:00:00Z  INFO text_generation_launcher: Args {\n"
      "tgi-1  |     model_id: \"Qwen/Qwen3-8B\",\n"
      "tgi-1  |     num_shard: Some(\n"
      "tgi-1  |         2,\n"
      "tgi-1  |     ),\n"
      "tgi-1  |     quantize: Some(\n"
      "tgi-1  |         BitsandbytesNf4,\n"
      "tgi-1  |     ),\n"
      "tgi-1  |     dtype: Some(BFloat16),\n"
      "tgi-1  |     max_total_tokens: Some(\n"
      "tgi-1  |         8192,\n"
      "tgi-1  |     ),\n"
      "tgi-1  | }\n");
  CHECK(sorted(tgi.result.scenario) == Sorted::parse(R"({
    "model": "Qwen/Qwen3-8B",
    "engine": {"name": "tgi", "tensor_parallel_size": 2, "quantization": "bitsandbytes",
      "dtype": "bfloat16", "max_total_tokens": 8192}})"));
  CHECK(
      printed_in("text_generation_launcher: Args { model_id: \"m\", sharded: Some(false), n: [] }")
          .result.scenario["engine"]["tensor_parallel_size"] == 1);
  CHECK_FALSE(notes_say(tgi.result, "cut off"));
}

TEST_CASE("a command printed as a list of words is read", "[printed_arguments]") {
  const Sorted expected = Sorted::parse(R"({
    "model": "Qwen/Qwen3-8B", "engine": {"name": "vllm", "max_num_seqs": 8}})");
  for (const std::string command :
       {"['vllm', 'serve', 'Qwen/Qwen3-8B', '--max_num_seqs', '8']",
        "[\"vllm\", \"serve\", \"Qwen/Qwen3-8B\", \"--max-num-seqs=8\"]",
        "INFO launcher: Running ['python3', '-m', 'vllm.entrypoints.openai.api_server', "
        "'--model', 'Qwen/Qwen3-8B', '--max_num_seqs', '8'] on [0]"}) {
    CHECK(sorted(scenario_from_command(command, "command").scenario) == expected);
  }
  CHECK_THROWS_AS(scenario_from_command("['--max_num_seqs', '8']", "command"), ConfigError);
  CHECK_FALSE(scenario_from_printed("nothing printed", "log").has_value());
}

}  // namespace headroom::printed_arguments_test
