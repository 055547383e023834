#include "sim/report/text/capacity_report.hpp"
#include "sim/report/json/capacity_json.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/memory/capacity_systems.hpp"

namespace headroom::capacity_report_test {

namespace {

using Catch::Matchers::Contains;

std::vector<CapacityRow> rows_of(const std::string& models, const std::string& devices,
                                 const std::string& environments, std::vector<std::string> set = {},
                                 const std::string& engines = "vllm") {
  SystemSelection selection;
  selection.models = {models};
  selection.devices = {devices};
  selection.engines = {engines};
  selection.environments = {environments};
  selection.set = std::move(set);
  CapacityQuery query;
  query.systems = select_systems(selection);
  query.contexts = parse_contexts({"2k,8k,32k,128k"});
  return capacity(query, Catalog::embedded());
}

// ENGINES.md 12.1, vector 1.
std::vector<CapacityRow> vector_one() {
  return rows_of("llama-3.1-8b", "h200-sxm", "native",
                 {"engine.kv_cache_memory_bytes=64424509440", "engine.max_model_len=8192"});
}

void check_width(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= kCapacityWidth);
  }
}

}  // namespace

TEST_CASE("capacity reports fit 100 columns") {
  check_width(capacity_text(vector_one()));
  check_width(capacity_text(rows_of("llama-3.1-70b,qwen2.5-7b,gemma-3-27b", "h100-sxm,a100-40",
                                    "native,docker", {}, "vllm,sglang")));
  check_width(capacity_text(
      rows_of("deepseek-r1-distill-qwen-7b", "gb10-2025",
              "native,docker-shm-60g,docker-measured-deepseek-7b,docker-measured-gpt-oss-120b", {},
              "trtllm")));
}

TEST_CASE("one system is a JSON object with its memory at the top") {
  const Json json = Json::parse(capacity_json(vector_one()));
  CHECK_FALSE(json.contains("systems"));
  CHECK(json["model"] == "llama-3.1-8b");
  CHECK(json["engine"] == "vllm");
  CHECK(json["environment"] == "native");
  CHECK(json["tensor_parallel_size"] == 1);
  const Json& memory = json["memory"];
  // 60 GiB in blocks of 2 MiB, the null block not counted; 60 x 8,192 tokens.
  CHECK(memory["kv_pool_bytes"] == std::int64_t{60} << 30);
  CHECK(memory["kv_total_blocks"] == 30720);
  CHECK(memory["kv_blocks"] == 30719);
  CHECK(memory["kv_block_tokens"] == 16);
  CHECK(memory["kv_bytes_per_token"] == 131072);
  CHECK(memory["max_model_len"] == 8192);
  CHECK(memory["max_concurrency"] == 60.0);
  std::int64_t sum = 0;
  for (const Json& bytes : memory["budget_bytes"]) sum += bytes.get<std::int64_t>();
  CHECK(memory["capacity_bytes"] == sum);
  CHECK(json["startup"].is_null());
  CHECK(json["contexts"][1]["max_concurrent"] == 59);
  CHECK(json["contexts"][2]["limited_by"] == "max_model_len");
}

TEST_CASE("several systems are a list with comparisons") {
  const Json json =
      Json::parse(capacity_json(rows_of("llama-3.1-8b", "h100-sxm", "native,docker")));
  REQUIRE(json["systems"].size() == 2);
  CHECK(json["systems"][0]["memory"]["kv_pool_bytes"] ==
        json["systems"][1]["memory"]["kv_pool_bytes"]);
  const Json& starts = json["comparison"]["environments"][0]["starts"];
  REQUIRE(starts.size() == 2);
  CHECK(starts[1]["environment"] == "docker");
  CHECK(starts[1]["ratio"] == 1.0);
  CHECK(starts[1]["difference_bytes"] == 0);
}

TEST_CASE("a system that does not start says stage, cause and remedy") {
  const std::vector<CapacityRow> rows = rows_of("llama-3.1-70b", "h100-sxm", "native");
  const Json json = Json::parse(capacity_json(rows));
  CHECK(json["startup"]["stage"] == "weights");
  CHECK(json["startup"]["kind"] == "startup");
  CHECK(json["startup"]["wanted_bytes"] > json["startup"]["free_bytes"]);
  CHECK(json["memory"]["kv_pool_bytes"] == 0);
  CHECK(json["weights"]["tensor_parallel_size_that_fits"] == 2);
  const std::string text = capacity_text(rows);
  CHECK_THAT(text, Contains("do not fit"));
  CHECK_THAT(text, Contains("takes 2 devices (TP 2)"));
  CHECK_THAT(text, Contains("DOES NOT START (weights)"));
}

TEST_CASE("a length that does not fit is answered with one that does", "[capacity]") {
  const std::vector<CapacityRow> rows = rows_of("llama-3.1-8b", "rtx4090", "native");
  const CapacityRow& row = rows.front();
  CHECK(row.start == StartVerdict::does_not_start);
  REQUIRE(row.cure);
  CHECK(row.cure->fix.option == "engine.max_model_len");
  // Of 2k, 8k, 32k and 128k the first three fit with it.
  REQUIRE(row.cure->contexts.size() == 4);
  CHECK(row.cure->contexts[2].requests == 1);
  CHECK(row.cure->contexts[3].requests == 0);
  const std::string text = capacity_text(rows);
  CHECK_THAT(text, Contains("DOES NOT START (max_length_request)") &&
                       Contains("change        engine.max_model_len 131072 -> "));
  CHECK(text.find("verdict") < text.find("weights"));
  const Json json = Json::parse(capacity_json(rows));
  CHECK(json["verdict"] == "does_not_start");
  CHECK(json["change"]["option"] == "engine.max_model_len");
  CHECK(json["contexts"][0]["max_concurrent"] == 0);
}

TEST_CASE("weights, serving and devices of one screen agree") {
  const auto text_of = [](const std::string& device, const std::string& engine) {
    SystemSelection selection;
    selection.models = {"qwen3.5-27b"};
    selection.devices = {device};
    selection.engines = {engine};
    CapacityQuery query;
    query.systems = select_systems(selection);
    std::string text = capacity_text(capacity(query, Catalog::embedded()));
    for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) {
      const std::size_t word = text.find_first_not_of(' ', at + 1);
      text.replace(at, word - at, " ");  // wrapped lines
    }
    return text;
  };
  const std::string mac = text_of("m4-max", "llamacpp");
  CHECK_THAT(mac, Contains("weights       fit: 50.96 GiB on 96.00 GiB per device; takes 1 device"));
  CHECK_THAT(mac, Contains("verdict       STARTS"));
  const std::string split = text_of("rtx4090", "llamacpp");
  CHECK_THAT(split, Contains("do not fit: 50.96 GiB on 23.52 GiB per device, 29.31 GiB stay in "
                             "host memory; without the host it takes 3 devices (PP 3)"));
  const std::string vllm = text_of("rtx4090", "vllm@0.19");
  CHECK_THAT(vllm, Contains("takes 4 devices (TP 4)"));
  CHECK_THAT(vllm, Contains("no tensor parallel size up to 64 starts: with 8 devices (TP 8) "
                            "graph_capture: 1.50 GiB of graphs wanted"));
}

TEST_CASE("a container on a discrete device is told to change nothing") {
  const std::string text = capacity_text(rows_of("llama-3.1-8b", "h100-sxm", "native,docker"));
  CHECK_THAT(text, Contains("a container does not change it"));
  CHECK_THAT(text, Contains("environments: llama-3.1-8b on h100-sxm, vllm 0.33"));
}

TEST_CASE("models are compared by KV per token") {
  const std::string text =
      capacity_text(rows_of("qwen2.5-7b,mistral-7b-v0.3,qwen2.5-72b", "h200-sxm", "native",
                            {"engine.max_model_len=4096"}));
  // FACTS.md 003.
  CHECK_THAT(text, Contains("56.00 KiB") && Contains("128.00 KiB") && Contains("320.00 KiB"));
  CHECK_THAT(text, Contains("7.00 GiB") && Contains("16.00 GiB") && Contains("40.00 GiB"));
  CHECK_THAT(text, Contains("86 %") && Contains("75 %") && Contains("88 %"));
}

TEST_CASE("a wide table goes on below with its first column again") {
  const std::string text = table_text({{"name", "aaaa", "bbbb"}, {"x", "1", "2"}}, 14);
  CHECK(text ==
        "  name  aaaa\n"
        "  x        1\n"
        "  name  bbbb\n"
        "  x        2\n");
}

TEST_CASE("the worksheet stands as written and corrected side by side") {
  WorksheetInput input;
  input.model = "llama_70b";
  input.kv_gb_per_token = 0.0025;
  input.weights_gb = 140;
  input.context_tokens = 8192;
  input.concurrent_requests = 10;
  input.tensor_parallel = 4;
  const std::vector<Worksheet> sheets{make_worksheet(input)};
  const std::string text = worksheet_text(sheets);
  check_width(text);
  CHECK_THAT(text, Contains("as written") && Contains("corrected"));
  CHECK_THAT(text, Contains("41.50 GB  as written"));
  const Json json = Json::parse(worksheet_json(sheets));
  const Json& columns = json["worksheets"][0]["columns"];
  CHECK(columns[0]["max_concurrent"] == 2);
  CHECK(columns[1]["max_concurrent"] == 8);
  // 10 x 20.48 GB over 4 GPUs, on 41.
  CHECK(columns[0]["kv_cache_needed_per_gpu"].get<double>() == Approx(51.2));
  CHECK(columns[0]["will_fit"] == false);
}

}  // namespace headroom::capacity_report_test
