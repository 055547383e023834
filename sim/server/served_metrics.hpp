#pragma once
// What a live run has served so far, as a page for Prometheus (sim/engines/published_metrics.hpp).
// Times are simulated ones, as clients see them.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/published_metrics.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {

// An answer that ended in full.
struct ServedAnswer {
  RequestRecord record;
  TimeNs client_ns = 0;  // between client and engine, once for each answer
  std::string_view finish_reason;
};

class ServedMetrics {
 public:
  // `model`: the served name; `max_model_len`: the last bound of histograms of tokens;
  // `finds_prefixes`: the engine has a prefix cache to look into.
  ServedMetrics(const std::string& model, std::int64_t max_model_len, bool finds_prefixes,
                std::size_t replicas);

  void on_event(const EngineEvent& event);
  void on_first_token(std::uint16_t replica, std::int64_t prompt_tokens, TimeNs ttft_ns);
  void on_tokens(std::uint16_t replica, std::int64_t tokens) {
    replicas_[replica].value(Published::generation_tokens) += static_cast<double>(tokens);
  }
  void on_gap(std::uint16_t replica, TimeNs gap_ns);
  void on_answer(const ServedAnswer& answer);
  void on_ended(std::uint16_t replica, std::string_view reason);  // not in full: abort, error

  [[nodiscard]] std::string text(const std::vector<std::unique_ptr<Replica>>& replicas,
                                 TimeNs now_ns) const;

 private:
  class Histogram {
   public:
    explicit Histogram(std::span<const double> bounds)
        : bounds_(bounds), counts_(bounds.size() + 1) {}
    void add(double value);
    void write(std::string& page, std::string_view name, const std::string& labels) const;

   private:
    std::span<const double> bounds_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t all_ = 0;
    double sum_ = 0;
  };
  static constexpr std::array<std::string_view, 4> kReasons = {"stop", "length", "abort", "error"};
  // Of one replica, by Published.
  struct OfReplica {
    std::array<double, kPublished> values{};
    std::array<std::uint64_t, kReasons.size()> ended{};
    std::vector<Histogram> histograms;  // of others than histograms: empty ones
    [[nodiscard]] double& value(Published what) { return values[static_cast<std::size_t>(what)]; }
    [[nodiscard]] Histogram& histogram(Published what) {
      return histograms[static_cast<std::size_t>(what)];
    }
  };

  void write(std::string& page, const PublishedMetric& metric, std::size_t replica,
             double level) const;
  [[nodiscard]] std::string labels(std::size_t replica) const;

  std::string model_;  // as JSON, quotes included
  std::vector<double> length_bounds_;
  bool finds_prefixes_;
  std::vector<OfReplica> replicas_;
};

}  // namespace headroom
