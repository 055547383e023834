#pragma once
// What clients declare as `max_tokens`. The true output is cut to a declared value below it, as an
// engine would; a value that is not declared is the engine's default, which the replica knows.

#include <cstdint>
#include <vector>

#include "sim/serving/request.hpp"

namespace headroom {

enum class MaxTokensRule : std::uint8_t {
  engine_default,  // not declared
  value,           // the same for every request
  times_output,    // ceil(k * true output): a client that guesses well
  per_class        // one value per class
};

struct MaxTokensOptions {
  MaxTokensRule rule = MaxTokensRule::engine_default;
  std::int64_t value = 0;     // value: tokens, >= 1
  double times_output = 1.0;  // times_output: k in 1 .. 1e6, taken to the nearest millionth
  std::vector<std::int64_t> per_class = {};  // by class id: tokens, 0 = not declared
  // A value that a row of the workload declares itself: engine_default keeps it always; other rules
  // replace it, unless this is set and they are for the rows without one.
  bool keep_declared = false;
};

class MaxTokens {
 public:
  explicit MaxTokens(const MaxTokensOptions& options);  // ConfigError

  // ConfigError when the rule has no value for the class.
  void check_class(std::int32_t class_id) const;
  // Sets `max_tokens` (from 0, or from what the row declares) and cuts `output_tokens` to it.
  void apply(Arrival& arrival);

  [[nodiscard]] std::int64_t outputs_cut() const { return outputs_cut_; }

 private:
  [[nodiscard]] std::int32_t declared(const Arrival& arrival) const;

  MaxTokensRule rule_;
  bool keeps_declared_;
  std::int32_t value_ = 0;
  std::int64_t millionths_ = 0;  // of times_output
  std::vector<std::int32_t> per_class_;
  std::int64_t outputs_cut_ = 0;
};

}  // namespace headroom
