#include "sim/engines/launch_draft.hpp"
#include "sim/kernel/lower_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

constexpr std::string_view kMethod = "/engine/speculative_config/method";
constexpr std::string_view kDrafts = "/engine/speculative_config/num_speculative_tokens";
constexpr std::string_view kDrafter = "/engine/speculative_config/model";

// Each text stays on one line, whatever a user's command had in its quotes.
void add_once(std::vector<std::string>& list, std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

// The method that the name of a drafter means.
std::string_view method_of_drafter(std::string name) {
  name = lower_case(std::move(name));
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (name == "ngram" || name == "[ngram]") return "ngram";
  if (has("eagle3")) return "eagle3";
  if (has("dflash")) return "dflash";
  return has("eagle-") ? "eagle" : "draft_model";
}

}  // namespace

void LaunchDraft::set(std::string_view pointer, Json value) {
  result.scenario[Json::json_pointer(std::string(pointer))] = std::move(value);
}

void LaunchDraft::unset(std::string_view pointer) {
  if (find(pointer) == nullptr) return;
  const Json::json_pointer place{std::string(pointer)};
  result.scenario.at(place.parent_pointer()).erase(place.back());
}

const Json* LaunchDraft::find(std::string_view pointer) const {
  const Json::json_pointer place{std::string(pointer)};
  return result.scenario.contains(place) ? &result.scenario.at(place) : nullptr;
}

std::string LaunchDraft::text(std::string_view pointer) const {
  const Json* value = find(pointer);
  return value == nullptr ? std::string() : value->get<std::string>();
}

EngineVersion LaunchDraft::release() const {
  const std::string named = text("/engine/version");
  return engine->release(named.empty() ? std::string(engine->version) : named);
}

void LaunchDraft::note(std::string text) { add_once(result.notes, std::move(text)); }
void LaunchDraft::refuses_to_start(std::string why) {
  note(why);
  add_once(result.refusals, std::move(why));
}
void LaunchDraft::unknown(std::string flag) { add_once(result.unknown_flags, std::move(flag)); }
void LaunchDraft::ignored(std::string flag) { add_once(result.ignored_flags, std::move(flag)); }

void settle_drafter(LaunchDraft& draft) {
  if (draft.refused.contains(std::string(kMethod))) {
    draft.unset(kDrafter);
    draft.unset(kDrafts);
    return;
  }
  const std::string drafter = draft.text(kDrafter);
  std::string method = draft.text(kMethod);
  if (method.empty() && !drafter.empty()) {
    method = method_of_drafter(drafter);
    draft.set(kMethod, method);
    draft.note(
        fmt::format("the method of speculative decoding is not named: {} is assumed from the name "
                    "of the drafter",
                    method));
  }
  if (method.empty() && draft.find(kDrafts) != nullptr) {
    draft.unset(kDrafts);
    draft.note(
        "speculative decoding names neither a method nor a model, so the scenario has no drafts");
  }
  if (drafter.empty() || method == "draft_model") return;
  draft.unset(kDrafter);
  if (method == "dflash") {
    draft.note(
        "the drafter of dflash is modelled by the published ones of its kind of model, whatever "
        "checkpoint is named");
  } else if (method != "ngram") {
    draft.note(
        fmt::format("the drafter of {} is modelled as one layer like the model's last one, "
                    "whatever checkpoint is named",
                    method));
  }
}

}  // namespace headroom
