#include "sim/memory/startup_validation.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/memory/memory_validation.hpp"
#include "sim/memory/startup_rows.hpp"
#include "sim/memory/startup_scenario.hpp"
#include "sim/report/text/memory_validation_report.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::startup_validation_test {
namespace {

using Catch::Matchers::Contains;

// A start-up of Llama-3.1-8B on one H100 as collected; `rest` replaces or adds members.
Json row_with(const Json& rest = Json::object()) {
  Json row = {{"id", "one"},
              {"link", "https://example.org/odd"},
              {"engine", "vllm"},
              {"version", "0.19.1"},
              {"model", "meta-llama/Llama-3.1-8B-Instruct"},
              {"device", "NVIDIA H100 80GB HBM3"},
              {"devices", 1},
              {"command", nullptr},
              {"flags", {{"max_model_len", 8192}, {"gpu_memory_utilization", 0.95}}},
              {"logged", {{"available_kv_cache_gib", 58.11}, {"model_loading_gib", 14.99}}},
              {"environment", "docker"},
              {"failed", nullptr}};
  row.update(rest);
  return row;
}

StartupValidation validate(const Json& rows) {
  const TempFolder folder;
  folder.write("startups/rows.json", Json{{"rows", rows}}.dump());
  return validate_startups(folder.path(), Catalog::embedded());
}

LoggedStart only_row(const Json& row) {
  const TempFolder folder;
  folder.write("startups/rows.json", Json{{"rows", Json::array({row})}}.dump());
  return read_logged_starts(folder.path()).at(0);
}

}  // namespace

TEST_CASE("of several devices the fullest that holds layers is compared", "[startups]") {
  // b2824 on two of four RTX 4090: 17 layers and 15 with the output.
  const Json row = row_with(
      {{"engine", "llama.cpp"},
       {"version", "b2824"},
       {"model", "Meta-Llama-3-8B"},
       {"file_type", "Q4_K - Medium"},
       {"device", "NVIDIA GeForce RTX 4090"},
       {"devices", 4},
       {"flags", {{"n_gpu_layers", 10000}, {"ctx_size", 8192}}},
       {"logged",
        {{"model_buffer_mib", {{"CPU", 281.81}, {"CUDA2", 2113.28}, {"CUDA3", 2290.21}}},
         {"kv_buffer_mib", {{"CUDA2", 544.0}, {"CUDA3", 480.0}}},
         {"compute_buffer_mib", {{"CUDA2", 640.01}, {"CUDA3", 640.02}, {"CUDA_Host", 72.02}}}}}});
  const StartupValidation v = validate(Json::array({row}));
  REQUIRE(v.replayed.size() == 1);
  const auto figure = [&](LoggedFigure which) {
    return std::ranges::find(v.replayed[0].figures, which, &ComparedFigure::figure);
  };
  const auto kv = figure(LoggedFigure::kv_gib);
  REQUIRE(kv != v.replayed[0].figures.end());
  CHECK(kv->logged == Approx(480.0 / 1024));  // of CUDA3, the fullest
  CHECK(kv->modelled == Approx(480.0 / 1024));
  CHECK(figure(LoggedFigure::weights_gib)->logged == Approx(2290.21 / 1024));
  CHECK(figure(LoggedFigure::compute_gib)->modelled == Approx(640.02 / 1024).epsilon(1e-3));
}

TEST_CASE("a logged start-up is replayed from its flags", "[startups]") {
  const StartupValidation v = validate(Json::array({row_with()}));
  REQUIRE(v.replayed.size() == 1);
  const ReplayedStart& start = v.replayed[0];
  CHECK(start.engine == "vLLM");
  CHECK(start.release == "0.19.1");
  CHECK(start.device == "h100-sxm");
  // 58.11 of 75.23 GiB: as in memory_validation_test, where the same row is of the campaign.
  REQUIRE(start.pool() != nullptr);
  CHECK(start.pool()->logged == 58.11);
  CHECK(start.pool()->error() == Approx(0).margin(0.002));
  CHECK(start.same_end());
}

TEST_CASE("flags become the engine's command", "[startups]") {
  const Json flags = {{"max_model_len", 4096},
                      {"enforce_eager", true},
                      {"enable_prefix_caching", false},
                      {"speculative_config", {{"method", "ngram"}}},
                      {"env", "VLLM_USE_V1=1"}};
  const std::string command = command_of(only_row(row_with({{"flags", flags}})));
  CHECK(command ==
        "VLLM_USE_V1=1 vllm serve 'meta-llama/Llama-3.1-8B-Instruct' --max-model-len '4096' "
        "--enforce-eager --no-enable-prefix-caching --speculative-config "
        "'{\"method\":\"ngram\"}'");
  const Json llama = {{"engine", "llama.cpp"},
                      {"version", "b7896 (ec6c7421e)"},
                      {"flags", {{"type_k", "f16"}, {"kv_unified", "false"}}},
                      {"logged", {{"n_ctx", 32768}, {"n_seq_max", 4}}}};
  CHECK(command_of(only_row(row_with(llama))) ==
        "llama-server  --model 'meta-llama/Llama-3.1-8B-Instruct' -ctk 'f16' -no-kvu -c '32768' "
        "-np '4'");
}

TEST_CASE("releases are read from what the log or its reader says", "[startups]") {
  const auto release = [](const Json& rest) { return only_row(row_with(rest)).release; };
  CHECK(release({{"version", "0.20.1.dev0+g101584af0.d20260424"}}) == "0.20.1.dev0");
  CHECK(release({{"version", "0.20.1rc1.dev16+g7a1eb8ac2"}}) == "0.20.1rc1.dev16");
  CHECK(release({{"version", "0.0.0+local"}, {"version_inferred", "0.20 (main of April 2026)"}}) ==
        "0.20");
  CHECK(release({{"version", "0.20.1"}}) == "0.20.1");
  CHECK(release({{"version", "b9010 (d05fe1d7d)"}}) == "0.9010");
  CHECK(release({{"version", "0.1.dev1+ga919d635d"},
                 {"version_inferred", "source build after 0.20.1, log of 2026-06-08"}}) ==
        "0.20.1");
  CHECK(release({{"version", nullptr}, {"version_inferred", "June 2026"}}).empty());
}

TEST_CASE("a row's device is the catalog's, by its names, or what stands for several",
          "[startups]") {
  const auto board_of = [](const char* device) {
    const Json row = row_with({{"device", device}, {"flags", {{"max_model_len", 1024}}}});
    return start_scenario(only_row(row), Catalog::embedded()).scenario.device.name;
  };
  CHECK(board_of("AMD Instinct MI355X") == "mi355x");
  CHECK(board_of("NVIDIA L40S or A40 (not named)") == "l40s");
  CHECK(board_of("Tesla T4, 15109 MiB") == "t4");
  CHECK(board_of("NVIDIA A100 (40 GB)") == "a100-40");      // three are called A100
  CHECK(board_of("NVIDIA A100 80GB (SXM4)") == "a100-80");  // and two by this name
  const Json slice = row_with({{"device", "NVIDIA H100 PCIe (MIG 3g.40gb)"}});
  CHECK(start_scenario(only_row(slice), Catalog::embedded()).why == "device unknown");
}

TEST_CASE("the type of a GGUF file is read where its name says none", "[startups]") {
  const auto format_of = [](const char* type) {
    const Json row = row_with({{"engine", "llama.cpp"},
                               {"version", "b9010 (d05fe1d7d)"},
                               {"flags", Json::object()},
                               {"file_type", type}});
    return start_scenario(only_row(row), Catalog::embedded()).scenario.engine.quantization;
  };
  CHECK(format_of("Q8_0") == "q8_0");
  CHECK(format_of("Q4_K - Medium") == "q4_k_m");
  CHECK(format_of("Q4_K - Small") == "q4_k_s");
  CHECK(format_of("IQ1_S") == "auto");  // no format of ours
}

TEST_CASE("the hash of its link decides whether a row may choose constants", "[startups]") {
  // SHA-256 of https://example.org/odd ends in 7, of https://example.org/3 in e.
  CHECK_FALSE(chooses_constants({{"link", "https://example.org/odd"}}));
  CHECK(chooses_constants({{"link", "https://example.org/3"}}));
  CHECK_FALSE(chooses_constants({{"link", "https://example.org/3"}, {"score_only", true}}));
}

TEST_CASE("what cannot be replayed is said", "[startups]") {
  const StartupValidation v = validate(Json::array(
      {row_with({{"model", "someone/unheard-of"}}), row_with({{"device", "not named"}}),
       row_with({{"engine", "other"}}), row_with({{"not_scored", "its model was made from it"}})}));
  CHECK(v.replayed.empty());
  REQUIRE(v.unplayed.size() == 4);
  CHECK(v.unplayed[3].why == "its model was made from it");
  CHECK(v.unplayed[0].why == "model unknown");
  CHECK(v.unplayed[1].why == "device unknown");
  CHECK(v.unplayed[2].why == "engine unknown");
}

TEST_CASE("a row with a value of another type is refused by file and row", "[startups]") {
  const auto refused = [](const Json& row, const std::string& place) {
    CHECK_THROWS_AS(validate(Json::array({row})), DataError);
    CHECK_THROWS_WITH(validate(Json::array({row})), Contains("rows.json: " + place));
  };
  refused(3, "row 1");
  refused(row_with({{"devices", "2"}}), "row 1");
  refused(row_with({{"score_only", 1}}), "row 1");
  refused(row_with({{"flags", {{"env", 3}}}}), "one");
  refused(row_with({{"logged", {{"gpu_kv_cache_tokens", {1, "x"}}}}}), "one");
  refused(row_with({{"logged", {{"total_gib", 79}, {"free_before_gib", {{"a", "x"}}}}}}), "one");
}

TEST_CASE("a failure is right in its stage only", "[startups]") {
  // 15 GiB of weights leave nothing of 0.2 x 79 GiB for KV.
  const Json flags = {{"max_model_len", 8192}, {"gpu_memory_utilization", 0.2}};
  const auto failing = [&](std::string_view stage) {
    return row_with({{"flags", flags},
                     {"logged", Json::object()},
                     {"failed", {{"stage", stage}, {"message", "no memory"}}}});
  };
  const StartupValidation v = validate(
      Json::array({failing("kv cache sizing"), failing("memory check before load"),
                   row_with({{"flags", flags}}), failing("stress run after a good start-up")}));
  REQUIRE(v.replayed.size() == 4);
  CHECK(v.replayed[0].same_end());
  CHECK_FALSE(v.replayed[1].same_end());
  CHECK_FALSE(v.replayed[2].same_end());
  CHECK_FALSE(v.replayed[3].same_end());
  const EndCount ends = count_ends(v, [](const ReplayedStart&) { return true; });
  CHECK(ends.rows == 4);
  CHECK(ends.same == 1);
}

TEST_CASE("spreads are of absolute errors", "[startups]") {
  StartupValidation v;
  for (const double modelled : {90.0, 104.0, 101.0}) {
    ReplayedStart start;
    start.id = std::to_string(v.replayed.size());
    start.figures = {{LoggedFigure::kv_gib, 100, modelled}};
    v.replayed.push_back(start);
  }
  const ErrorSpread spread = spread_of_pools(v, [](const ReplayedStart&) { return true; });
  CHECK(spread.rows == 3);
  CHECK(spread.mean == Approx(0.05));
  CHECK(spread.median == Approx(0.04));
  CHECK(spread.worst == Approx(-0.10));
  CHECK(spread.worst_id == "0");
}

TEST_CASE("start-ups alone are a validation, in text and JSON", "[startups]") {
  const TempFolder folder;
  folder.write("startups/rows.json", Json{{"rows", Json::array({row_with()})}}.dump());
  const MemoryValidation v = validate_memory(folder.path(), Catalog::embedded());
  CHECK_THAT(memory_validation_text(v), Contains("vLLM 0.19.1 h100-sxm"));
  const Json json = Json::parse(memory_validation_json(v));
  CHECK(json.at("startups").at("replayed").at(0).at("id") == "one");
  folder.write("startups/rows.json", "{\"rows\": [{\"id\": \"x\"}]}");
  CHECK_THROWS_AS(validate_memory(folder.path(), Catalog::embedded()), DataError);
}

}  // namespace headroom::startup_validation_test
