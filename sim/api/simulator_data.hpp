#pragma once
// What a Simulator holds.

#include "hardware/catalog.hpp"
#include "sim/api/headroom.hpp"

namespace headroom::api {

struct Simulator::Data {
  Catalog catalog = Catalog::embedded();
};

}  // namespace headroom::api
