#include "hardware/cost/kernel_table.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hardware/cost/factory.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::kernel_table_test {
namespace {

// A made-up device on which every time is a law, measured at the corners of a grid only: what lies
// between must follow the law exactly. In us:
//   matrices       10 + 0.1 T each (4 of them), other kernels 1 + 0.01 T (layernorm twice a layer)
//   decodes        2 + 0.001 n d
//   a chunk        3 + 0.00001 c (2 k + c)
//   both           the sum and 5
//   head, sampler  100 + S each
double decode_us(double n, double d) { return 2 + 0.001 * n * d; }
double prefill_us(double c, double k) { return 3 + 0.00001 * c * (2 * k + c); }

constexpr std::array kMatrices{"qkv_proj", "o_proj", "gate_up_proj", "down_proj"};
constexpr std::array kOthers{"embedding", "layernorm", "rotary_emb", "act_fn", "final_layernorm"};

std::string dense_csv() {
  std::string text = "layer,tokens,time_us\n";
  for (const int tokens : {1, 1001}) {
    for (const char* name : kMatrices) {
      text += fmt::format("{},{},{}\n", name, tokens, 10 + 0.1 * tokens);
    }
    for (const char* name : kOthers) {
      text += fmt::format("{},{},{}\n", name, tokens, 1 + 0.01 * tokens);
    }
  }
  return text;
}

double attention_us(double c, double k, double n, double d) {
  if (c == 0) return decode_us(n, d);
  return n == 0 ? prefill_us(c, k) : prefill_us(c, k) + decode_us(n, d) + 5;
}

using AttentionLaw = double (*)(double c, double k, double n, double d);

std::string attention_csv(AttentionLaw law = attention_us) {
  std::string text = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
  const auto add = [&](double c, double k, double n, double d, double us) {
    text += fmt::format("{},{},{},{},{:.6f}\n", c, k, n, d, us);
  };
  for (const double n : {1, 64}) {
    for (const double d : {16, 1024, 8192}) add(0, 0, n, d, law(0, 0, n, d));
  }
  for (const double c : {16, 2048}) {
    for (const double k : {0, 4096}) {
      add(c, k, 0, 0, law(c, k, 0, 0));
      for (const double n : {1, 64}) {
        for (const double d : {16, 8192}) add(c, k, n, d, law(c, k, n, d));
      }
    }
  }
  // A finer measurement of one corner: its lengths are not on the grid and are left out.
  add(100, 0, 1, 16, 1e6);
  return text;
}

constexpr const char* kPerSequence =
    "layer,sequences,time_us\nlm_head,1,101\nlm_head,101,201\nsampler,1,101\nsampler,101,201\n";

void write_profile(const TempFolder& folder, const std::string& ranks) {
  folder.write(ranks + "/dense.csv", dense_csv());
  folder.write(ranks + "/attention.csv", attention_csv());
  folder.write(ranks + "/per_sequence.csv", kPerSequence);
  folder.write("meta.yaml", "gpu: NVIDIA GeForce RTX 4090\nmodel: ours/profiled\n");
}

CostRequest table_request(const TempFolder& folder) {
  CostRequest request;
  request.engine = "vllm";
  request.level = CostLevel::table;
  request.tables = folder.path();
  return request;
}

CostChoice choose(const CostRequest& request, const char* model = "llama-3.1-8b") {
  const Catalog catalog = Catalog::embedded();
  return make_step_cost(catalog, catalog.model(model), catalog.device("rtx4090"), request);
}

double us(Ticks ticks) {
  return static_cast<double>(ticks) / 1e3 / static_cast<double>(kTicksPerNs);
}

StepShape decodes(std::int64_t rows, TokenCount context) {
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = rows;
  shape.decode_context = context;
  return shape;
}

void add_chunk(StepShape& shape, TokenCount tokens, TokenCount cached) {
  ++shape.chunk_rows;
  shape.chunk_tokens += tokens;
  shape.chunk_context += tokens + cached;
  shape.chunk_pairs_twice += tokens * (2 * cached + tokens);
}

StepPrice priced(const StepCost& cost, const StepShape& shape) {
  StepPrice price;
  cost.price(shape, price);
  CHECK(price.base == price.base_terms.sum());
  CHECK(price.slope == price.slope_terms.sum());
  return price;
}

}  // namespace

TEST_CASE("a step of decodes is the sum of its kernels over the layers") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  const CostChoice choice = choose(table_request(folder));
  const StepPrice price = priced(*choice.cost, decodes(10, 10 * 500));
  // T = 10: 32 layers of 4 matrices of 11 us; 32 x (2 + 1 + 1) kernels and 2 outside of 1.1 us.
  CHECK(us(price.base_terms[CostTerm::linear_memory]) == Approx(32 * 4 * 11.0));
  CHECK(us(price.base_terms[CostTerm::elementwise]) == Approx((32 * 4 + 2) * 1.1));
  CHECK(us(price.base_terms[CostTerm::attention_decode]) == Approx(32 * decode_us(10, 500)));
  CHECK(us(price.base_terms[CostTerm::head]) == Approx(2 * 110.0));
  // Each step adds a token to each of ten: 32 x 0.001 x 10 us.
  CHECK(us(price.slope) == Approx(0.32));
  // More sequences than the 256 of the limits, and than were measured.
  CHECK(us(priced(*choice.cost, decodes(300, 300)).base_terms[CostTerm::head]) == Approx(2 * 400));
}

TEST_CASE("a chunk goes by its query-key pairs, several by those of all") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  const CostChoice choice = choose(table_request(folder));
  StepShape one;
  add_chunk(one, 700, 1000);
  CHECK(us(priced(*choice.cost, one).base_terms[CostTerm::attention_prefill]) ==
        Approx(32 * prefill_us(700, 1000)));
  StepShape three;
  for (int i = 0; i < 3; ++i) add_chunk(three, 300, 600);
  // 3 x 300 x (2 x 600 + 300) pairs, one start.
  CHECK(us(priced(*choice.cost, three).base_terms[CostTerm::attention_prefill]) ==
        Approx(32 * (3 + 0.00001 * 3 * 300 * 1500)));
  StepShape mixed = decodes(8, 8 * 2000);
  add_chunk(mixed, 700, 1000);
  CHECK(us(priced(*choice.cost, mixed).base_terms[CostTerm::attention_decode]) ==
        Approx(32 * (decode_us(8, 2000) + 5)));
}

TEST_CASE("a price from tables holds step by step, to the tick, for as long as it says") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  const CostChoice choice = choose(table_request(folder));
  for (const std::int64_t rows : {1, 7, 64, 100}) {
    const TokenCount context = 900 * rows + 3;
    const StepPrice first = priced(*choice.cost, decodes(rows, context));
    // The cell ends where all are 1024 tokens long.
    REQUIRE(first.valid_steps == (1024 * rows - context) / rows + 1);
    for (StepCount i = 0; i < first.valid_steps; ++i) {
      const StepPrice later = priced(*choice.cost, decodes(rows, context + i * rows));
      REQUIRE(later.base == first.base + i * first.slope);
    }
  }
}

TEST_CASE("experts are priced by tokens and by how many of them those reach") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  CostRequest request = table_request(folder);
  CHECK_THROWS_WITH(choose(request, "mixtral-8x7b"), Catch::Contains("no moe.csv"));
  folder.write("tp1/moe.csv", "ep,tokens,activated_experts,time_us\n2,1,2,5\n");
  CHECK_THROWS_WITH(choose(request, "mixtral-8x7b"),
                    Catch::Contains("no moe.csv with rows for ep"));
  // 7 us per expert, whatever the tokens; one token cannot reach eight.
  folder.write("tp1/moe.csv",
               "ep,tokens,activated_experts,time_us\n1,1,2,14\n1,1000,2,14\n1,1000,8,56\n"
               "2,1,2,5\n");
  const CostChoice choice = choose(request, "mixtral-8x7b");
  const auto linear = [&](std::int64_t rows) {
    return us(priced(*choice.cost, decodes(rows, rows)).base_terms[CostTerm::linear_memory]);
  };
  // No MLP beside the experts: two matrices, of queries and of the output. Two tokens of two
  // experts each reach 8 (1 - (3/4)^2) = 3.5. Between 1 and 1000 tokens, at 3.5 experts: 14
  // and 24.5 us.
  CHECK(linear(1) == Approx(32 * (2 * 10.1 + 14)));
  CHECK(linear(2) == Approx(32 * (2 * 10.2 + 14 + (24.5 - 14) / 999)));
}

TEST_CASE("links and host come from a calibration row, kernels of each size from its folder") {
  const TempFolder folder;
  write_profile(folder, "tp2");
  CostRequest request = table_request(folder);
  CHECK_THROWS_AS(choose(request), ConfigError);  // no tp1
  request.roofline.parallel.sharding.tensor = 2;
  const CostChoice choice = choose(request);
  CHECK(choice.calibration == "rtx4090-vllm-async");
  // 64 all-reduces of 20 us over PCIe.
  CHECK(us(priced(*choice.cost, decodes(1, 1)).base_terms[CostTerm::communication]) > 64 * 20);
}

TEST_CASE("kernel times that do not fit are refused with the place") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  const CostRequest request = table_request(folder);
  CHECK_THROWS_WITH(choose(request, "gpt-oss-20b"), Catch::Contains("whole context"));
  folder.write("meta.yaml", "gpu: NVIDIA GeForce RTX 4090\nmodel: Qwen/Qwen3-32B\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("the kernel times are for Qwen/Qwen3-32B"));
  folder.write("meta.yaml",
               "gpu: NVIDIA RTX PRO 6000 Blackwell Server Edition\n"
               "model: meta-llama/Llama-3.1-8B\n");
  CHECK_THROWS_WITH(choose(request),
                    Catch::Contains("Server Edition, but the scenario's system is rtx"));
  folder.write("meta.yaml", "model: meta-llama/Llama-3.1-8B\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("meta.yaml: gpu: missing"));
  folder.write("meta.yaml", "");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("meta.yaml: model: missing"));
  folder.write("meta.yaml", "gpu: NVIDIA GeForce RTX 4090\nmodel: \x01\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("meta.yaml: model: not printable text"));
  std::filesystem::remove(folder.path() + "/meta.yaml");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("no meta.yaml, here or in a folder above"));
  folder.write("meta.yaml", "gpu: 'NVIDIA H100 80GB HBM3'\nmodel: my/fine-tune\n");
  CHECK_THAT(choose(request).source,
             Catch::Contains("not checked: my/fine-tune and NVIDIA H100 80GB HBM3"));
  folder.write("meta.yaml", "gpu: NVIDIA GeForce RTX 4090\nmodel: meta-llama/Llama-3.1-8B\n");
  folder.write("tp1/dense.csv", dense_csv() + "mystery,1,2\nmystery,2,2\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("'mystery'"));
  folder.write("tp1/dense.csv", "layer,tokens,time_us\nqkv_proj,1,-3\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("dense.csv:2: time_us: '-3'"));
  folder.write("tp1/dense.csv", dense_csv() + "qkv_proj,1,3\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("qkv_proj 1 twice"));
  folder.write("tp1/dense.csv", "layer,tokens,time_us\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("no layer 'embedding'"));
  write_profile(folder, "tp1");
  folder.write("tp1/per_sequence.csv", "layer,sequences,time_us\n");
  CHECK_THROWS_WITH(choose(request), Catch::Contains("no layer 'lm_head'"));
}

TEST_CASE("lines of a profile may end as on Windows") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  folder.write("meta.yaml", "gpu: NVIDIA GeForce RTX 4090\r\nmodel: Qwen/Qwen3-32B \r\n");
  CHECK_THROWS_WITH(choose(table_request(folder)),
                    Catch::Contains("the kernel times are for Qwen/Qwen3-32B, but"));
  folder.write("meta.yaml", "gpu: NVIDIA H100 80GB HBM3\r\nmodel: other\r\n");
  CHECK(read_kernel_times_meta(folder.path()).gpu == "NVIDIA H100 80GB HBM3");
}

// Every time falls with all that it goes by, as noise lets single ones do: continued, each would be
// below 0 soon after the last point.
TEST_CASE("a step takes time beyond points that fall") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  std::string dense = "layer,tokens,time_us\n";
  for (const auto& names : {std::vector(kMatrices.begin(), kMatrices.end()),
                            std::vector(kOthers.begin(), kOthers.end())}) {
    for (const char* name : names) dense += fmt::format("{0},1000,20\n{0},1016,7\n", name);
  }
  folder.write("tp1/dense.csv", dense);
  folder.write("tp1/attention.csv", attention_csv([](double c, double k, double n, double d) {
                 return 400 - 0.01 * (c + k + d) - n;
               }));
  folder.write("tp1/per_sequence.csv",
               "layer,sequences,time_us\n"
               "lm_head,1,101\nlm_head,9,50\nsampler,1,101\nsampler,9,50\n");
  folder.write("tp1/moe.csv",
               "ep,tokens,activated_experts,time_us\n1,1,2,90\n1,2,2,20\n1,2,3,10\n");
  const CostChoice choice = choose(table_request(folder), "mixtral-8x7b");
  for (const std::int64_t rows : {0, 1, 64, 5000}) {
    for (const TokenCount context : {1, 8192, 1'000'000}) {
      for (const TokenCount chunk : {0, 16, 2048, 20'000}) {
        if (rows + chunk == 0) continue;
        StepShape shape = decodes(rows, rows * context);
        if (chunk > 0) add_chunk(shape, chunk, context);
        const StepPrice price = priced(*choice.cost, shape);
        // Two matrices of dense.csv (no MLP) at their last 7 us, experts at their last 10.
        if (rows + chunk > 1016) {
          CHECK(us(price.base_terms[CostTerm::linear_memory]) == Approx(32 * (2 * 7 + 10)));
        }
        for (const Ticks term : price.base_terms.ticks) CHECK(term >= 0);
        CHECK(price.base_terms[CostTerm::attention_decode] +
                  price.base_terms[CostTerm::attention_prefill] >
              0);
        CHECK(price.slope >= 0);
      }
    }
  }
}

TEST_CASE("times that add up to no step are refused") {
  const TempFolder folder;
  write_profile(folder, "tp1");
  const CostRequest request = table_request(folder);
  // 128 matrices, 130 other kernels and the head of 10 tokens take 3968, 4030 and 2000 s: each
  // alone is below the longest step of 4398 s, all together exceed 64 bits. No other step is long.
  std::string dense = "layer,tokens,time_us\n";
  for (const auto& names : {std::vector(kMatrices.begin(), kMatrices.end()),
                            std::vector(kOthers.begin(), kOthers.end())}) {
    for (const char* name : names) {
      dense += fmt::format("{0},9,1\n{0},10,31e6\n{0},11,1\n{0},12,1\n", name);
    }
  }
  folder.write("tp1/dense.csv", dense);
  std::string head = "layer,sequences,time_us\n";
  for (const char* name : {"lm_head", "sampler"}) {
    head += fmt::format("{0},9,1\n{0},10,1e9\n{0},11,1\n{0},12,1\n", name);
  }
  folder.write("tp1/per_sequence.csv", head);
  const CostChoice choice = choose(request);
  StepPrice price;
  CHECK_NOTHROW(choice.cost->price(decodes(9, 9), price));
  CHECK_THROWS_WITH(choice.cost->price(decodes(10, 10), price),
                    Catch::Contains("tp1: a step would take longer than 73 minutes"));
  // 1600 s at 8192 tokens of context, 1 us at 1024, and on.
  write_profile(folder, "tp1");
  folder.write("tp1/attention.csv", attention_csv([](double c, double, double, double d) {
                 return c == 0 && d == 8192 ? 5e7 : 1.0;
               }));
  CHECK_THROWS_WITH(choose(request).cost->price(decodes(1, 100'000'000), price),
                    Catch::Contains("73 minutes"));
  CostRequest longer = request;
  longer.roofline.limits.max_model_len = 100'000'000;
  CHECK_THROWS_WITH(choose(longer), Catch::Contains("tp1: the largest step (256 sequences"));
}

}  // namespace headroom::kernel_table_test
