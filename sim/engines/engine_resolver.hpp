#pragma once
// How an engine fills what the user did not give: each default with the rule that it comes from.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/engines/engine.hpp"
#include "sim/options/origins.hpp"

namespace headroom {

class EngineResolver {
 public:
  EngineResolver(EngineSection& all, EngineSystem& part_of, const Origins& who)
      : options(all), system(part_of), given(who) {}

  EngineSection& options;
  EngineSystem& system;
  const Origins& given;

  template <typename Section>
  [[nodiscard]] Section& own() {
    return options.own.edit<Section>();
  }

  // Errors of other modules about a value get its place.
  template <typename Action>
  auto lookup(const std::string& pointer, Action action) const -> decltype(action()) {
    try {
      return action();
    } catch (const ConfigError& error) {
      throw error.at(given.origin(pointer), pointer);
    }
  }

  // Fills an absent option by the engine's rule, and remembers the rule.
  template <typename T, typename U>
  void fill(const std::string& pointer, std::optional<T>& option, const U& value,
            std::string_view rule) {
    if (option) return;
    option = T(value);
    note_rule(pointer, rule);
  }
  void note_rule(const std::string& pointer, std::string_view rule);
  // Fills the length of the longest request from the model; refuses or warns beyond it.
  // `automatic`: the meaning of -1, if the engine accepts it.
  void fill_length(const std::string& pointer, std::optional<std::int64_t>& option, bool strict,
                   std::string_view automatic = {});
  void set_sizes(std::int64_t length, std::int64_t sequences, std::int64_t step_tokens,
                 std::int64_t block);
  void warn(std::string text) { system.warnings.push_back(std::move(text)); }
};

}  // namespace headroom
