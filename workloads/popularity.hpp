#pragma once
// Which item of a popular few and an unpopular many: item k of 1 .. count with a chance in
// proportion to k^-exponent. The heads' sums in a table, the tail by its integral: no more memory
// for ten million items than for ten thousand, and no time to set up.

#include <cstdint>
#include <vector>

namespace headroom {

inline constexpr std::int64_t kMaxPopularItems = 10'000'000;
inline constexpr double kMaxPopularityExponent = 20.0;

class Popularity {
 public:
  // 1 <= count <= kMaxPopularItems; 0 <= exponent <= kMaxPopularityExponent, 0 = all equal. The
  // chances of items behind the 4096th are those of the integral from k - 1/2 to k + 1/2 (the
  // midpoint rule), too large by exponent * (exponent + 1) / (24 k^2) of themselves: 5e-9 at
  // exponent 1.
  Popularity(std::int64_t count, double exponent);

  [[nodiscard]] std::int64_t operator()(double probability) const;  // in (0, 1)

 private:
  [[nodiscard]] double tail_up_to(double item) const;  // from the end of the table
  [[nodiscard]] double item_at(double tail) const;     // its inverse

  std::int64_t count_;
  double exponent_;
  std::vector<double> cumulative_;  // of the first items
  double first_ = 0.5;              // where the tail begins: half an item behind the table
  double first_weight_ = 1.0;       // first^(1 - exponent)
  double sum_ = 0.0;
};

}  // namespace headroom
