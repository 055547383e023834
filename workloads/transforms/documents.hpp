#pragma once
// Long documents in front of prompts: what retrieval (RAG) does to the traffic of a plain chat.

#include <cstdint>
#include <vector>

#include "workloads/length_options.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

struct DocumentOptions {
  double share = 0.0;         // of the rows that carry one, 0 .. 1
  LengthOptions tokens = {};  // of a document, as the engine counts them: no factor applies
  // Different documents: item k of 1 .. count is carried with weight k^-exponent, and prompts that
  // carry the same one share it. 0: all are different. At most a million.
  std::int64_t count = 0;
  double exponent = 0.0;  // popularity, 0 (all equal) .. 20
};

struct DocumentReport {
  std::int64_t rows = 0;       // that carry one
  std::int64_t tokens = 0;     // of these, in sum
  std::int64_t documents = 0;  // different ones among them
};

void check_documents(const DocumentOptions& options);  // ConfigError

// Returns the tokens of each row's document (0: none), which comes before its prompt and its prefix
// chain; a document belongs only to its row, and later turns do not repeat it. Draws are made for
// all rows of `kept`, the rows that are not in the trace any more included (empty: all are): a row
// keeps its draws whatever else is dropped. Streams: "trace/documents" (a row carries one when its
// uniform is below `share`: what carries one at a smaller share does at a larger one),
// "trace/documents/choice", "lengths/document". ConfigError: a prompt beyond 2^31 - 1 tokens.
[[nodiscard]] std::vector<std::int32_t> add_documents(Trace& trace, const DocumentOptions& options,
                                                      const std::vector<bool>& kept,
                                                      std::uint64_t seed, DocumentReport& report);

}  // namespace headroom
