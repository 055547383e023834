#pragma once
// Times of single steps that hardware/probe/probe.py took on a device: a file with the geometries
// of its models (as Hugging Face configs), facts of the device, and one median per shape of a step.
// What else the file holds (copies, products, attention, all-reduce, allocator) is for the reader
// of the file: nothing here looks at it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/llm/model_spec.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

enum class StepKind : std::uint8_t { decode, prefill, mixed };
inline constexpr std::array<std::string_view, 3> kStepKindNames{"decode", "prefill", "mixed"};
[[nodiscard]] constexpr std::string_view name_of(StepKind kind) {
  return kStepKindNames[static_cast<std::size_t>(kind)];
}

struct StepSample {
  std::size_t model = 0;  // place in StepTimes::models
  StepShape shape;
  std::int64_t longest_tokens = 0;  // of a sequence after the step
  double median_us = 0;             // of the repeats, as the others
  double least_us = 0;
  double most_us = 0;

  [[nodiscard]] StepKind kind() const {
    if (shape.chunk_rows == 0) return StepKind::decode;
    return shape.decode_rows == 0 ? StepKind::prefill : StepKind::mixed;
  }
};

struct StepTimes {
  std::string file;      // as errors call it
  bool made_up = false;  // written by hand or by a test: everything made of it must say so
  std::string date;
  std::string torch_version;
  std::string device;  // its name in the driver
  ByteCount device_memory_bytes = 0;
  std::vector<ModelSpec> models;
  std::vector<StepSample> samples;
};

// ConfigError with file, JSON pointer, value and what is allowed.
[[nodiscard]] StepTimes read_step_times(const JsonDocument& document);

}  // namespace headroom
