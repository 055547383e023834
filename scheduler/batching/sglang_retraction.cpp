#include "scheduler/batching/sglang_retraction.hpp"

namespace headroom {

double ratio_after_retraction(TokenCount decoded, std::int64_t requests, TokenCount max_tokens) {
  const auto generated = static_cast<double>(decoded + kRetractDecodeSteps * requests);
  return std::min(1.0, generated / static_cast<double>(max_tokens + 1));
}

void order_by_retraction(std::vector<RetractionCandidate>& running) {
  std::sort(running.begin(), running.end(),
            [](const RetractionCandidate& a, const RetractionCandidate& b) {
              if (a.output_tokens != b.output_tokens) return a.output_tokens < b.output_tokens;
              if (a.prompt_tokens != b.prompt_tokens) return a.prompt_tokens > b.prompt_tokens;
              return a.place > b.place;
            });
}

}  // namespace headroom
