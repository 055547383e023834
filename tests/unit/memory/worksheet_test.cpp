#include "sim/memory/worksheet.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/memory/capacity_systems.hpp"

namespace headroom::worksheet_test {

namespace {

// The document's example: 70B in FP16 on four GPUs of 80 GB, 8K context.
WorksheetInput seventy_b() {
  const WorksheetModel* model = worksheet_model("llama_70b");
  REQUIRE(model != nullptr);
  WorksheetInput input;
  input.model = "llama_70b";
  input.kv_gb_per_token = model->kv_gb_per_token;
  input.weights_gb = model->weights_gb;
  input.context_tokens = 8192;
  input.concurrent_requests = 8;
  input.tensor_parallel = 4;
  return input;
}

}  // namespace

TEST_CASE("the worksheet prints 2 for a 70B as written and 8 when corrected") {
  const Worksheet sheet = make_worksheet(seventy_b());
  REQUIRE(sheet.columns.size() == 2);
  const WorksheetColumn& written = sheet.columns[0];
  // 0.0025 x 8,192 = 20.48 GB per request; 8 of them over 4 GPUs: 40.96. 80 - 35 - 4 = 41.
  CHECK(written.kv_needed_per_gpu_gb == Approx(40.96));
  CHECK(written.available_per_gpu_gb == Approx(41));
  CHECK(written.will_fit);
  CHECK(written.headroom_gb == Approx(0.04));
  CHECK(written.max_concurrent == 2);  // 41 / 20.48
  const WorksheetColumn& corrected = sheet.columns[1];
  CHECK(corrected.kv_needed_per_gpu_gb == Approx(40.96));
  CHECK(corrected.max_concurrent == 8);  // 41 / 5.12
}

TEST_CASE("nine requests do not fit, whatever the worksheet's last line says") {
  WorksheetInput input = seventy_b();
  input.concurrent_requests = 9;
  const Worksheet sheet = make_worksheet(input);
  CHECK_FALSE(sheet.columns[1].will_fit);  // 46.08 GB on 41
  CHECK(sheet.columns[1].headroom_gb == Approx(-5.08));
}

TEST_CASE("the real KV heads of a 70B allow 61 requests") {
  WorksheetInput input = seventy_b();
  SystemSelection selection;
  selection.models = {std::string(worksheet_model("llama_70b")->catalog_id)};
  selection.devices = {"h100-sxm"};
  selection.set = {"engine.tensor_parallel_size=4"};
  fill_from_system(input, resolve_system(select_systems(selection).front(), Catalog::embedded()));
  const Worksheet sheet = make_worksheet(input);
  REQUIRE(sheet.columns.size() == 3);
  // 80 layers x 2 x 8 heads x 128 x 2 B = 327,680 B; 8,192 tokens over 4 GPUs: 0.6711 GB; 41 / that
  // = 61.1.
  CHECK(sheet.columns[2].kv_gb_per_token == Approx(0.00032768));
  CHECK(sheet.columns[2].max_concurrent == 61);
  CHECK(sheet.columns[0].max_concurrent == 2);
}

TEST_CASE("the geometry corrects the other figures of the worksheet") {
  const auto geometry_of = [](std::string_view name) {
    SystemSelection selection;
    selection.models = {std::string(worksheet_model(name)->catalog_id)};
    selection.devices = {"h100-sxm"};
    WorksheetInput input;
    fill_from_system(input, resolve_system(select_systems(selection).front(), Catalog::embedded()));
    return *input.geometry_gb_per_token;
  };
  // FACTS.md 002: 13B 0.00082 instead of 0.001, Mixtral 0.000131 instead of 0.002 GB per token.
  CHECK(geometry_of("llama_13b") == Approx(0.0008192));
  CHECK(geometry_of("mixtral_8x7b") == Approx(0.000131072));
  CHECK(geometry_of("llama_7b") == Approx(0.000524288));
}

TEST_CASE("the audit leaves 41.5 GB, with activations 37.5") {
  const MemoryAudit audit = make_worksheet(seventy_b()).audit;
  CHECK(audit.weights_gb == 140);
  CHECK(audit.weights_per_gpu_gb == 35);
  CHECK(audit.available_gb == Approx(41.5));                   // 80 - 35 - 1.5 - 2
  CHECK(audit.available_less_activations_gb == Approx(37.5));  // less 4
  CHECK(audit.kv_1k_one_request_gb == Approx(2.5));
  CHECK(audit.kv_8k_ten_requests_gb == Approx(200));
}

TEST_CASE("more ranks than KV heads keep whole heads each") {
  WorksheetInput input = seventy_b();
  input.tensor_parallel = 16;
  input.geometry_gb_per_token = 0.00032768;
  input.geometry_rank_gb_per_token = 0.00032768 / 8;  // one of 8 heads, held twice
  // 80 - 8.75 - 4 = 67.25 GB; 8,192 tokens of 40.96 KB are 0.33554 GB: 200.4 requests, not 400.
  CHECK(make_worksheet(input).columns[2].max_concurrent == 200);
}

TEST_CASE("worksheet inputs out of range are errors") {
  CHECK(worksheet_model("llama_65b") == nullptr);
  const auto wrong = [](auto change) {
    WorksheetInput input = seventy_b();
    change(input);
    CHECK_THROWS_AS(make_worksheet(input), ConfigError);
  };
  wrong([](WorksheetInput& in) { in.kv_gb_per_token = 0; });
  wrong([](WorksheetInput& in) { in.kv_gb_per_token.reset(); });
  wrong([](WorksheetInput& in) { in.gpu_memory_gb = -80; });
  wrong([](WorksheetInput& in) { in.context_tokens = 0; });
  wrong([](WorksheetInput& in) { in.tensor_parallel = 0; });
  wrong([](WorksheetInput& in) { in.weights_gb = -1; });
}

}  // namespace headroom::worksheet_test
