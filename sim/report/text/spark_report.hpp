#pragma once
// The DGX Spark part of `headroom validate memory`.

#include <nlohmann/json.hpp>
#include <string>

#include "sim/memory/spark_validation.hpp"

namespace headroom {

[[nodiscard]] std::string spark_text(const SparkExplanations& found, std::size_t width);
[[nodiscard]] nlohmann::ordered_json spark_json(const SparkExplanations& found);

}  // namespace headroom
