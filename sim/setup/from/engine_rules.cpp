#include "sim/setup/from/engine_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "sim/engines/engines.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::string_view kMethod = "/engine/speculative_config/method";
constexpr std::string_view kDrafts = "/engine/speculative_config/num_speculative_tokens";
constexpr std::string_view kDrafter = "/engine/speculative_config/model";
constexpr std::string_view kHybridOff = "/engine/disable_hybrid_kv_cache_manager";

// A preference for the manager counts, and decides alone, from this release on; before, a
// connector turned it off in any case.
constexpr EngineVersion kHybridPreference{0, 12};
// The connector says whether it can work with the manager (SupportsHMA).
constexpr EngineVersion kHybridByConnector{0, 22};
// Of vLLM's own connectors those that cannot.
constexpr std::array<std::string_view, 1> kWithoutHybrid{"LMCacheConnectorV1"};

// vllm/config/speculative.py: what the name of a drafter stands for.
std::string_view method_of_drafter(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (name == "ngram" || name == "[ngram]") return "ngram";
  if (has("eagle3")) return "eagle3";
  return has("eagle-") ? "eagle" : "draft_model";
}

EngineVersion release_of(const Draft& draft) {
  const Json* version = draft.find("/engine/version");
  const std::string text = version != nullptr
                               ? version->get<std::string>()
                               : std::string(engine_named(draft.engine->engine).version);
  return parse_engine_version(text);
}

}  // namespace

void settle_drafter(Draft& draft) {
  const auto text_of = [&](std::string_view pointer) {
    const Json* value = draft.find(pointer);
    return value == nullptr ? std::string() : value->get<std::string>();
  };
  if (draft.refused.contains(std::string(kMethod))) {
    draft.unset(kDrafter);
    draft.unset(kDrafts);
    return;
  }
  const std::string drafter = text_of(kDrafter);
  std::string method = text_of(kMethod);
  if (method.empty() && !drafter.empty()) {
    method = method_of_drafter(drafter);
    draft.set(kMethod, method);
    draft.note(
        fmt::format("no method of speculative decoding is named: {} by the name of the "
                    "drafter",
                    method));
  }
  if (method.empty() && draft.find(kDrafts) != nullptr) {
    draft.unset(kDrafts);
    draft.note("neither method nor model of speculative decoding is named: without drafts");
  }
  if (drafter.empty() || method == "draft_model") return;
  draft.unset(kDrafter);
  if (method != "ngram") {
    draft.note(
        fmt::format("the drafter of {} is taken as one layer like the model's last one, "
                    "not as the checkpoint that is named",
                    method));
  }
}

void settle_kv_connector(Draft& draft) {
  if (!draft.kv_connector) return;
  const EngineVersion release = release_of(draft);
  const Json* wish = draft.find(kHybridOff);
  if (wish != nullptr && (wish->get<bool>() || release >= kHybridPreference)) return;
  const std::string& connector = *draft.kv_connector;
  const bool unable = std::ranges::count(kWithoutHybrid, connector) > 0;
  if (release >= kHybridByConnector && !unable) {
    draft.note(fmt::format(
        "vLLM {} keeps its hybrid KV cache manager if the connector{}{} supports it, which is "
        "assumed: where the log says 'Turning off hybrid kv cache manager', set "
        "engine.disable_hybrid_kv_cache_manager",
        to_string(release), connector.empty() ? "" : " ", connector));
    return;
  }
  draft.set(kHybridOff, true);
  draft.note(fmt::format(
      "vLLM {} turns its hybrid KV cache manager off for the KV connector: windows keep all of "
      "their tokens, and models with recurrent layers do not start",
      to_string(release)));
}

}  // namespace headroom
