#pragma once
// Lengths of the requests of a ServeGen client (servegen_pools.hpp), by the file
// chunk-<client>-dataset.json: {"<start_s>": {"<field>": "{<value>: <probability>, ...}"}}, one
// window per 21,600 s; each applies until the next one begins. Fields: output_tokens; input_tokens
// or text_tokens; reason_ratio (the thinking share of the output); and image_, audio_,
// video_count and _tokens (of each piece). "{}" in any of them: the window has no data. Other
// fields are not used.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// A law over whole numbers, given by the probability of each.
class ServeGenLaw {
 public:
  ServeGenLaw() = default;
  // Values ascending; probabilities >= 0 in units of 1e-15, with a sum above 0 that fits.
  ServeGenLaw(std::vector<std::int32_t> values, const std::vector<std::int64_t>& probabilities);

  [[nodiscard]] bool empty() const { return values_.empty(); }
  // The smallest value whose cumulative probability exceeds u; u in (0, 1).
  [[nodiscard]] std::int32_t at(double u) const;
  [[nodiscard]] double mean() const;

 private:
  std::vector<std::int32_t> values_;
  std::vector<std::int64_t> cumulative_;
};

// Lengths of a client's requests in a dataset window.
struct ServeGenLengths {
  std::int64_t start_s = 0;
  bool has_data = true;
  ServeGenLaw prompt;  // text
  ServeGenLaw output;
  // Of the bins of reason_ratio, which reach evenly from 0 to 1; empty: no thinking.
  ServeGenLaw reason_bin;
  std::int32_t reason_bins = 0;
  // Images, audio, video of a prompt: how many, and the tokens of each.
  struct Media {
    ServeGenLaw count;
    ServeGenLaw tokens;
  };
  std::array<Media, 3> media;
};

// All windows of a dataset file. DataError: a malformed one.
[[nodiscard]] std::vector<ServeGenLengths> read_servegen_lengths(const std::string& path);

}  // namespace headroom
