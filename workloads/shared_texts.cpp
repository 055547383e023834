#include "workloads/shared_texts.hpp"

#include <fmt/format.h>

#include "sim/kernel/errors.hpp"
#include "workloads/length_pair.hpp"

namespace headroom {
namespace {

const SharedTextOptions& checked(const SharedTextOptions& options, std::string_view scope,
                                 std::string_view name) {
  if (options.count < 0 || options.count > kMaxPopularItems) {
    throw ConfigError(fmt::format("{}{}: count is {}; allowed: 0 .. {}", scope, name, options.count,
                                  kMaxPopularItems));
  }
  if (!(options.share >= 0.0 && options.share <= 1.0)) {
    throw ConfigError(
        fmt::format("{}{}: share is {}; allowed: 0 .. 1", scope, name, options.share));
  }
  if (!(options.exponent >= 0.0 && options.exponent <= kMaxPopularityExponent)) {
    throw ConfigError(fmt::format("{}{}: exponent is {}; allowed: 0 .. {}", scope, name,
                                  options.exponent, kMaxPopularityExponent));
  }
  return options;
}

}  // namespace

SharedTexts::SharedTexts(const SharedTextOptions& options, const SharedTextNames& names,
                         std::uint64_t seed, std::string_view scope)
    : share_(checked(options, scope, names.option).share),
      tokens_(length_quantile(options.tokens, fmt::format("{}{}", scope, names.lengths))),
      lengths_(seed, fmt::format("{}{}", scope, names.lengths)),
      identities_(seed, fmt::format("{}{}", scope, names.identities)) {
  if (options.count > 0) popularity_.emplace(options.count, options.exponent);
}

std::optional<PrefixSegment> SharedTexts::choose(std::uint64_t share_bits,
                                                 std::uint64_t item_bits) const {
  if (uniform_of(share_bits) >= share_) return std::nullopt;
  return text((*popularity_)(uniform_of(item_bits)));
}

PrefixSegment SharedTexts::text(std::int64_t item) const {
  const auto place = static_cast<std::uint64_t>(item);
  return {.id = identities_.bits(place), .tokens = length_at(tokens_, lengths_.bits(place))};
}

}  // namespace headroom
