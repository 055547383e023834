#pragma once
// The table of all routers.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "scheduler/routing/options.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

struct RouterRow {
  std::string_view name = {};  // as scenarios spell it
  std::unique_ptr<Router> (*make)(const RouterOptions& options) = nullptr;
  bool uses_weights = false;    // of the replicas
  bool sees_replicas = true;    // their loads or caches, which may be old
  bool keeps_promises = false;  // slo of the requests, by the speed of each replica
};

[[nodiscard]] std::span<const RouterRow> router_rows();
// "a|b|c": the rows that `takes`, as options list their choices.
[[nodiscard]] std::string router_choices(bool (*takes)(const RouterRow& row));
// `name` is one of the table.
[[nodiscard]] const RouterRow& router_row(std::string_view name);

}  // namespace headroom
