#pragma once
// How long synthetic prompts and outputs are. Each length is one draw u of its own stream, put
// through the quantile function of its law: request k keeps its u when a parameter or the law
// changes, so scenarios that differ in one length setting are compared request by request.

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/kernel/random.hpp"
#include "workloads/length_laws/length_quantile.hpp"
#include "workloads/length_options.hpp"

namespace headroom {

class LengthSampler {
 public:
  // `stream` also names the option in errors: "lengths/prompt", "lengths/output".
  LengthSampler(const LengthOptions& options, std::uint64_t seed, std::string_view stream);

  // The next lengths, each in [1, 2^31), at one draw each (fixed lengths: none).
  void fill(std::span<std::int32_t> tokens);
  // The same lengths together with their draws u in (0, 1), at one draw each (fixed ones, too). As
  // many of both.
  void fill(std::span<std::int32_t> tokens, std::span<double> draws);

  // The next u alone, for a length that is drawn from something else as well.
  [[nodiscard]] double draw();
  // The length of a draw `u` in (0, 1) made elsewhere; the stream stays where it is. The u of fill
  // gives fill's length, but where only the 12 bits that a u lacks decide: about once in
  // 2^52 / (lengths of the law) draws, and only for uniform and empirical laws.
  [[nodiscard]] std::int32_t at(double u) const;

 private:
  RandomStream stream_;
  LengthQuantile quantile_;
};

}  // namespace headroom
