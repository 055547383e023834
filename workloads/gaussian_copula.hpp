#pragma once
// Two uniform draws made to depend on each other: z2' = rho * z1 + sqrt(1 - rho^2) * z2, with z the
// normal quantiles of the draws. Both stay uniform. Their rank correlation (Spearman's) is
// 6 / pi * asin(rho / 2), Kendall's tau 2 / pi * asin(rho): Kruskal, "Ordinal measures of
// association" (1958).

namespace headroom {

class GaussianCopula {
 public:
  // -1 .. 1, else ConfigError; 1: the same draw twice; -1: the opposite one.
  explicit GaussianCopula(double correlation);

  // The second draw, in (0, 1), given the first one and an independent one, both in (0, 1).
  // Correlation 0 returns `independent` unchanged.
  [[nodiscard]] double operator()(double first, double independent) const;

 private:
  double correlation_;
  double rest_;  // sqrt(1 - correlation^2)
};

}  // namespace headroom
