#pragma once
// Texts that many prompts begin with (system prompts, documents): who begins with one, with which
// one, how long it is, and its identity. Nothing is kept of a text: length and identity of text k
// are draws number k of streams of their own.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/serving/prefix.hpp"
#include "workloads/counter_stream.hpp"
#include "workloads/length_laws/length_quantile.hpp"
#include "workloads/popularity.hpp"
#include "workloads/traffic_options.hpp"

namespace headroom {

// In `name`s: what the option is called, and the streams of lengths and identities.
struct SharedTextNames {
  std::string_view option;      // "system_prompts"
  std::string_view lengths;     // "lengths/system"
  std::string_view identities;  // "identities/system"
};

class SharedTexts {
 public:
  // `scope` stands before all names. ConfigError.
  SharedTexts(const SharedTextOptions& options, const SharedTextNames& names, std::uint64_t seed,
              std::string_view scope);

  [[nodiscard]] bool any() const { return popularity_.has_value(); }
  // The text of a session, from two draws of 64 uniform bits; only where there are `any`. With a
  // larger share, sessions that had a text keep it.
  [[nodiscard]] std::optional<PrefixSegment> choose(std::uint64_t share_bits,
                                                    std::uint64_t item_bits) const;
  [[nodiscard]] PrefixSegment text(std::int64_t item) const;  // 1 .. count

 private:
  double share_;
  LengthQuantile tokens_;
  CounterStream lengths_;
  CounterStream identities_;
  std::optional<Popularity> popularity_;
};

}  // namespace headroom
