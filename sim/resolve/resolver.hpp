#pragma once
// How resolve.hpp works: the parts that all engines share. What an engine makes of its options is
// in its folder (sim/engines).

#include <filesystem>
#include <string>

#include "sim/engines/engine_resolver.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {

class Resolver {
 public:
  Resolver(const Scenario& scenario, const Catalog& catalog);
  [[nodiscard]] Resolved run();

 private:
  void find_model();
  void refuse_unknown_model() const;
  [[nodiscard]] bool reads_cache_format(std::string_view method) const;
  void take_usual_format();
  bool read_checkpoint_name(const std::filesystem::path& overrides);
  void take_published_checkpoint(const std::filesystem::path& overrides);
  void spread_over_counted();
  void find_machine();
  void check_host_figures() const;
  void note_measured_containers(const std::string& environment);
  void resolve_parts();
  void resolve_scheduler();
  void resolve_restart();
  void resolve_speculation();  // after the engine: turns asynchronous scheduling off
  void resolve_drafter();
  void find_drafter();  // its weights and KV, for the start-up budget
  void resolve_lora();  // after the engine: its slots are part of the budget
  void resolve_formats();
  void take_gguf_rest();
  void warn_of_foreign_format();
  void check_sharding_of_model();
  void check_expert_blocks();
  void resolve_cost_level();
  void choose_cost_level();

  const Catalog& catalog_;
  Resolved r_;
  EngineResolver engine_;             // of r_
  std::optional<Dtype> named_cache_;  // of the checkpoint, by its name
  bool weights_told_ = false;         // their format, by a file or by the name
  bool read_from_files_ = false;      // what the model is, and not by its name
};

}  // namespace headroom
