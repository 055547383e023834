#include "sim/engines/engines.hpp"

#include <algorithm>
#include <array>

#include "sim/engines/engine_metrics.hpp"
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

const Engine* find_engine(std::string_view name) {
  const auto all = engines();
  const auto found = std::ranges::find(all, name, &Engine::name);
  return found == all.end() ? nullptr : *found;
}

const Engine& engine_named(std::string_view name) {
  const Engine* found = find_engine(name);
  HEADROOM_CHECK(found != nullptr, "an engine that parsing let pass: " + std::string(name));
  return *found;
}

const Engine* engine_of_metric(std::string_view metric) {
  const auto all = engines();
  const auto found = std::ranges::find_if(all, [metric](const Engine* engine) {
    return engine->metrics != nullptr && metric.starts_with(engine->metrics->prefix);
  });
  return found == all.end() ? nullptr : *found;
}

bool reads_option(const Engine& engine, std::string_view option) {
  return std::ranges::find(engine.takes, option) != engine.takes.end();
}

}  // namespace headroom
