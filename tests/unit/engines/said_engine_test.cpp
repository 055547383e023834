// What people write after --engine.
#include "sim/engines/said_engine.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"

namespace headroom::said_engine_test {

TEST_CASE("an engine is found by its name or title, however it is written") {
  CHECK(said_engine("vLLM", "--engine").name == "vllm");
  CHECK(said_engine("llama.cpp", "--engine").name == "llamacpp");
  CHECK(said_engine("TensorRT-LLM", "--engine").name == "trtllm");
  CHECK(said_engine("tensorrt-llm@1.3", "--engine").name == "trtllm");
  CHECK(said_engine("tensorrt-llm@1.3", "--engine").version == "1.3");
  CHECK(said_engine("Ollama", "--engine").name == "ollama");
  CHECK(said_engine("static", "--engine").version.empty());
  CHECK_THROWS_AS(said_engine("vllm@", "--engine"), ConfigError);
}

TEST_CASE("what is no engine is refused with all of them and the nearest") {
  try {
    static_cast<void>(said_engine("vlm@0.19", "--engine"));
    FAIL("taken");
  } catch (const ConfigError& error) {
    CHECK(error.complaint().kind == ErrorKind::unknown);
    CHECK(error.complaint().origin == "--engine");
    CHECK(error.complaint().value == "vlm");
    CHECK(error.complaint().nearest == "vllm");
  }
}

}  // namespace headroom::said_engine_test
