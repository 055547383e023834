#pragma once
// How resolve.hpp works: the parts that all engines share, and one function per engine for its own
// options (resolve_engines.cpp).

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/setup/resolve.hpp"

namespace headroom {

class Resolver {
 public:
  Resolver(const Scenario& scenario, const Catalog& catalog);
  [[nodiscard]] Resolved run();

 private:
  // Errors of other modules about a scenario's value get its place in front.
  template <typename Action>
  auto lookup(const std::string& pointer, Action action) -> decltype(action()) {
    try {
      return action();
    } catch (const ConfigError& error) {
      throw error.at(r_.scenario.origin(pointer), pointer);
    }
  }
  void note_rule(const std::string& pointer, std::string_view rule);

  // Fills an absent option by the engine's rule, and remembers the rule.
  template <typename T, typename U>
  void fill(const std::string& pointer, std::optional<T>& option, const U& value,
            std::string_view rule) {
    if (option) return;
    option = T(value);
    note_rule(pointer, rule);
  }

  void find_model();
  void find_machine();
  void check_host_figures() const;
  void resolve_parts();
  void resolve_scheduler();
  void resolve_restart();
  void check_run_options() const;  // that stand for nothing, or for more than another one allows
  void resolve_speculation();      // after the engine: turns asynchronous scheduling off
  void resolve_drafter();
  void find_drafter();  // its weights and KV, for the start-up budget
  void resolve_lora();  // after the engine: its slots are part of the budget
  void resolve_formats();
  // Fills the length of the longest request from the model; refuses or warns beyond it.
  void fill_length(const std::string& pointer, std::optional<std::int64_t>& option, bool strict);
  void set_common(std::int64_t length, std::int64_t sequences, std::int64_t step_tokens,
                  std::int64_t block);

  void resolve_vllm();
  void resolve_trtllm();
  void resolve_sglang();
  void resolve_tgi();
  void resolve_hf();
  void resolve_fastertransformer();
  void resolve_llamacpp();
  void resolve_ollama();
  void resolve_orca();
  void resolve_plain();

  const Catalog& catalog_;
  Resolved r_;
};

}  // namespace headroom
