#include "workloads/transforms/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "workloads/length_laws/length_quantile.hpp"
#include "workloads/length_laws/zipf_quantile.hpp"
#include "workloads/lengths.hpp"
#include "workloads/transforms/row_draws.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

constexpr std::string_view kLengths = "lengths/document";
// First halves of documents' identities (fractional digits of the square roots of 2 and 3).
constexpr std::uint64_t kOfRow = 0x6A09E667F3BCC908;
constexpr std::uint64_t kOfPool = 0xBB67AE8584CAA73B;

// By row: the document that it would carry.
struct RowDocuments {
  std::vector<std::int32_t> tokens;
  std::vector<std::uint64_t> ids;
};

RowDocuments all_different(const RowsThere& rows, const LengthOptions& tokens, std::uint64_t seed) {
  std::vector<std::uint64_t> ids(rows.all());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = mixed_id(kOfRow, i);
  return {.tokens = drawn_lengths(rows, tokens, seed, kLengths), .ids = rows.only(std::move(ids))};
}

RowDocuments from_pool(const RowsThere& rows, const DocumentOptions& options, std::uint64_t seed) {
  const auto count = static_cast<std::int32_t>(options.count);
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(count));
  LengthSampler(options.tokens, seed, kLengths).fill(lengths);
  std::optional<ZipfQuantile> zipf;
  if (options.exponent > 0.0) zipf.emplace(1, count, options.exponent);
  RowDocuments documents;
  for (const double u : drawn_uniforms(rows, seed, "trace/documents/choice")) {
    const std::int32_t item = zipf ? (*zipf)(u) : 1 + static_cast<std::int32_t>(u * count);
    const auto number = static_cast<std::size_t>(std::min(item, count));
    documents.tokens.push_back(lengths[number - 1]);
    documents.ids.push_back(mixed_id(kOfPool, number));
  }
  return documents;
}

void lengthen_prompts(Trace& trace, const std::vector<std::int32_t>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::int32_t& prompt = trace.rows[i].prompt_tokens;
    if (tokens[i] > INT32_MAX - prompt) {
      throw ConfigError(
          fmt::format("trace: documents: one of {} tokens makes a prompt of {} longer than {}, the "
                      "longest allowed",
                      tokens[i], prompt, INT32_MAX));
    }
    prompt += tokens[i];
  }
}

// A document that no other request can begin with needs no identity, unless text with an identity
// follows it, now or when the turns of the session get theirs.
void put_in_front(Trace& trace, const RowDocuments& documents, bool shared) {
  if (shared) need_details(trace);
  if (trace.details.empty()) return;
  std::vector<PrefixSegment> segments;
  segments.reserve(trace.segments.size() + trace.rows.size());
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    TraceDetail& detail = trace.details[i];
    const std::size_t first = segments.size();
    const bool matters = shared || detail.segment_count > 0 || detail.session != kNoSession;
    if (documents.tokens[i] > 0 && matters) {
      segments.push_back({.id = documents.ids[i], .tokens = documents.tokens[i]});
    }
    for (const PrefixSegment& segment : trace.prefix(i)) segments.push_back(segment);
    detail.first_segment = first;
    detail.segment_count = static_cast<std::int32_t>(segments.size() - first);
  }
  trace.segments = std::move(segments);
}

}  // namespace

void check_documents(const DocumentOptions& options) {
  const auto refuse = [](std::string_view option, auto value, auto most) {
    throw ConfigError(
        fmt::format("trace: documents: {} is {}; allowed: 0 .. {}", option, value, most));
  };
  if (!(options.share >= 0.0 && options.share <= 1.0)) refuse("share", options.share, 1);
  if (options.count < 0 || options.count > kMaxZipfLengths) {
    refuse("count", options.count, kMaxZipfLengths);
  }
  if (!(options.exponent >= 0.0 && options.exponent <= kMaxZipfExponent)) {
    refuse("exponent", options.exponent, kMaxZipfExponent);
  }
  static_cast<void>(length_quantile(options.tokens, kLengths));
}

std::vector<std::int32_t> add_documents(Trace& trace, const DocumentOptions& options,
                                        const std::vector<bool>& kept, std::uint64_t seed,
                                        DocumentReport& report) {
  const RowsThere rows(trace, kept);
  const bool shared = options.count > 0;
  RowDocuments documents =
      shared ? from_pool(rows, options, seed) : all_different(rows, options.tokens, seed);
  const std::vector<double> draws = drawn_uniforms(rows, seed, "trace/documents");
  std::unordered_set<std::uint64_t> distinct;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    if (draws[i] >= options.share) {
      documents.tokens[i] = 0;
      continue;
    }
    ++report.rows;
    report.tokens += documents.tokens[i];
    if (shared) distinct.insert(documents.ids[i]);
  }
  report.documents = shared ? static_cast<std::int64_t>(distinct.size()) : report.rows;
  lengthen_prompts(trace, documents.tokens);
  put_in_front(trace, documents, shared);
  return std::move(documents.tokens);
}

}  // namespace headroom
