#include "sim/engines/engines.hpp"

#include <algorithm>
#include <array>

#include "sim/engines/fastertransformer/engine.hpp"
#include "sim/engines/hf/engine.hpp"
#include "sim/engines/llamacpp/engine.hpp"
#include "sim/engines/papers/engines.hpp"
#include "sim/engines/sglang/engine.hpp"
#include "sim/engines/tgi/engine.hpp"
#include "sim/engines/trtllm/engine.hpp"
#include "sim/engines/vllm/engine.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {

std::span<const Engine* const> engines() {
  static const std::array kEngines{
      &vllm_engine(),     &trtllm_engine(), &sglang_engine(),
      &tgi_engine(),      &hf_engine(),     &fastertransformer_engine(),
      &llamacpp_engine(), &ollama_engine(), &sarathi_engine(),
      &orca_engine(),     &static_engine()};
  return kEngines;
}

const Engine& engine_named(std::string_view name) {
  const auto all = engines();
  const auto found = std::ranges::find(all, name, &Engine::name);
  HEADROOM_CHECK(found != all.end(), "an engine that parsing let pass: " + std::string(name));
  return **found;
}

bool reads_option(const Engine& engine, std::string_view option) {
  return std::ranges::find(engine.takes, option) != engine.takes.end();
}

}  // namespace headroom
