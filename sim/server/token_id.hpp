#pragma once

#include <cstdint>

namespace headroom {

using TokenId = std::int32_t;

}  // namespace headroom
