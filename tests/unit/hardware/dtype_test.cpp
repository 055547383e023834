#include "hardware/llm/dtype.hpp"

#include <catch2/catch.hpp>

#include "tests/support/about.hpp"

namespace headroom::dtype_test {

TEST_CASE("data types are known by the engines' names") {
  CHECK(parse_dtype("bfloat16") == Dtype::bf16);
  CHECK(parse_dtype("torch.float16") == Dtype::fp16);
  CHECK(parse_dtype("fp8_e4m3") == Dtype::fp8);
  CHECK(parse_dtype("Q4_K_M") == Dtype::q4_k_m);
  const test::About unknown = test::about([] { return parse_dtype("bf61"); });
  CHECK(unknown.kind == ErrorKind::unknown);
  CHECK(unknown.complaint.nearest == "bf16");
  for (const std::string& name : dtype_names()) CHECK(name_of(parse_dtype(name)) == name);
}

TEST_CASE("scales of groups are counted") {
  CHECK(stored_bytes(Dtype::bf16, 1000) == 2000);
  CHECK(stored_bytes(Dtype::fp8, 1000) == 1000);
  // 4 bits each; a byte per 16 (nvfp4) or 32 (mxfp4); int4: 16 + 4 bits per 128.
  CHECK(stored_bytes(Dtype::nvfp4, 32) == 16 + 2);
  CHECK(stored_bytes(Dtype::mxfp4, 32) == 16 + 1);
  CHECK(stored_bytes(Dtype::int4, 256) == 128 + 5);
  // llama.cpp: 34 bytes per 32 in q8_0, 18 in q4_0.
  CHECK(stored_bytes(Dtype::q8_0, 64) == 68);
  CHECK(stored_bytes(Dtype::q4_0, 64) == 36);
  CHECK(stored_bytes(Dtype::nvfp4, 1) == 1);  // whole bytes
}

TEST_CASE("a GGUF mixture has the size of a whole file") {
  // Llama-3.1-8B Q4_K_M: 8030261248 parameters in a file of 4.58 GiB (llama.cpp).
  const double gib = static_cast<double>(stored_bytes(Dtype::q4_k_m, 8030261248)) / (1 << 30);
  CHECK(gib == Approx(4.58).epsilon(0.002));
}

}  // namespace headroom::dtype_test
