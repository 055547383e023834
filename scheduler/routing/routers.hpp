#pragma once
// The table of all routers.

#include <memory>
#include <span>
#include <string_view>

#include "scheduler/routing/options.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

struct RouterRow {
  std::string_view name = {};  // as scenarios spell it
  std::unique_ptr<Router> (*make)(const RouterOptions& options) = nullptr;
  bool uses_weights = false;  // of the replicas
};

[[nodiscard]] std::span<const RouterRow> router_rows();
// `name` is one of the table.
[[nodiscard]] const RouterRow& router_row(std::string_view name);

}  // namespace headroom
