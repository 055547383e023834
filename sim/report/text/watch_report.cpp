#include "sim/report/text/watch_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

constexpr std::size_t kWatchWidth = 80;
constexpr std::size_t kWatchNameWidth = 12;

std::string watch_row(std::string_view label, std::string_view text) {
  return wrapped(label, text, kWatchNameWidth, kWatchWidth);
}

std::string count_text(double count) {
  return human_count(static_cast<std::int64_t>(std::llround(count)));
}

// "4 min 10 s", "2 h 5 min"
std::string while_text(double seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  const auto all = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e12)));
  if (all < kMinute) return fmt::format("{} s", all);
  if (all < kHour) return fmt::format("{} min {} s", all / kMinute, all % kMinute);
  return fmt::format("{} h {} min", all / kHour, all % kHour / kMinute);
}

std::string server_text(const WatchView& view) {
  std::string text = view.url;
  if (!view.engine.empty()) text += ", " + view.engine;
  text += view.traffic.seconds > 0 ? fmt::format("; {} reads in {}", view.traffic.reads,
                                                 while_text(view.traffic.seconds))
                                   : "; read once";
  if (view.restarts > 0) text += fmt::format(", restarted {} times", view.restarts);
  return text;
}

std::string traffic_text(const WatchedTraffic& t) {
  std::string text =
      t.arrivals_per_s ? fmt::format("{:.3g} requests/s come", *t.arrivals_per_s) : "";
  if (t.prompt && t.output) {
    text += fmt::format("; {} tokens in and {} out on average", count_text(t.prompt->mean()),
                        count_text(t.output->mean()));
  } else if (t.arrivals_per_s) {
    text += "; none has ended";
  }
  if (t.running) {
    text += fmt::format("{}{} run, {} wait", text.empty() ? "" : "; ", count_text(*t.running),
                        count_text(t.waiting.value_or(0)));
  }
  return text;
}

std::string pool_text(const WatchView& view) {
  const WatchVerdict& v = view.verdict;
  if (!view.traffic.kv_share) return "the server does not say how full it is";
  const double share = *view.traffic.kv_share;
  std::string text = v.pool_tokens ? fmt::format("{} of {} tokens left ({:.1f} % in use)",
                                                 count_text(*v.tokens_left),
                                                 count_text(*v.pool_tokens), 100 * share)
                                   : fmt::format("{:.1f} % in use", 100 * share);
  if (v.seconds_until_full) {
    text +=
        v.tokens_per_s ? fmt::format("; grows by {} tokens/s", count_text(*v.tokens_per_s)) : "";
    text += fmt::format("; full in {}", while_text(*v.seconds_until_full));
  } else if (view.traffic.kv_share_per_s) {
    text += "; does not grow";
  }
  return text;
}

std::string limit_text(const WatchLimit& limit, const WatchVerdict& v) {
  if (!limit.rate) return fmt::format("none: {} even at the smallest load", limit.breaks);
  std::string text = fmt::format("up to {:.3g} requests/s of these", *limit.rate);
  if (v.rate_left) {
    text += fmt::format(", {:.3g} {} than come", std::abs(*v.rate_left),
                        *v.rate_left < 0 ? "fewer" : "more");
  }
  return text + fmt::format("; beyond that {}", limit.breaks);
}

}  // namespace

std::string watch_text(const WatchView& view) {
  const WatchVerdict& v = view.verdict;
  std::string head(view.problem.empty() ? title_of(v.verdict) : "NO ANSWER");
  if (!view.problem.empty()) {
    head += ": " + view.problem + "; what follows is from before";
  } else if (v.verdict != HoldVerdict::holds) {
    head += ": " + v.first;
  }
  std::string text = wrapped("", head, 0, kWatchWidth);
  text += watch_row("server", server_text(view));
  text += watch_row("traffic", traffic_text(view.traffic));
  text += watch_row("KV pool", pool_text(view));
  if (view.limit) text += watch_row("headroom", limit_text(*view.limit, v));
  return text;
}

std::string watch_line(const WatchView& view) {
  if (!view.problem.empty()) return "NO ANSWER  " + view.problem + "\n";
  const WatchVerdict& v = view.verdict;
  std::string text(title_of(v.verdict));
  if (view.traffic.arrivals_per_s) {
    text += fmt::format("  {:.3g} requests/s", *view.traffic.arrivals_per_s);
    if (view.limit) text += fmt::format(" of {:.3g}", view.limit->rate.value_or(0));
  }
  text += fmt::format("  {} run, {} wait", count_text(view.traffic.running.value_or(0)),
                      count_text(view.traffic.waiting.value_or(0)));
  if (view.traffic.kv_share) text += fmt::format("  KV {:.1f} %", 100 * *view.traffic.kv_share);
  if (v.verdict != HoldVerdict::holds) text += "  " + v.first;
  return text + "\n";
}

std::string watch_gauges(const WatchView& view) {
  const WatchVerdict& v = view.verdict;
  std::string text;
  const bool is_up = view.problem.empty();
  const auto gauge = [&text](std::string_view name, std::string_view doc,
                             const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return;
    text += fmt::format("# HELP headroom_{} {}\n# TYPE headroom_{} gauge\nheadroom_{} {}\n", name,
                        doc, name, name, *value);
  };
  gauge("server_up", "Whether the latest read of the server's metrics went well.", is_up ? 1 : 0);
  gauge("kv_pool_tokens", "Tokens that the KV pool holds.", v.pool_tokens);
  gauge("kv_tokens_left", "Tokens of the KV pool that are free.", v.tokens_left);
  gauge("kv_tokens_per_second", "Growth of the tokens in use.", v.tokens_per_s);
  gauge("kv_seconds_until_full", "Until the KV pool is full at the present growth.",
        v.seconds_until_full);
  gauge("requests_per_second", "Requests that come.", view.traffic.arrivals_per_s);
  if (view.limit) {
    gauge("requests_per_second_limit", "Requests of the present kind that hold, simulated.",
          view.limit->rate.value_or(0));
    gauge("requests_per_second_left", "Requests that may come on top.", v.rate_left);
  }
  gauge("server_restarts", "Restarts of the server that were seen.",
        static_cast<double>(view.restarts));
  text +=
      "# HELP headroom_verdict Whether the present traffic holds.\n"
      "# TYPE headroom_verdict gauge\n";
  for (const HoldVerdict one :
       {HoldVerdict::holds, HoldVerdict::tight, HoldVerdict::does_not_hold}) {
    text += fmt::format("headroom_verdict{{verdict=\"{}\"}} {}\n", name_of(one),
                        one == v.verdict ? 1 : 0);
  }
  return text;
}

}  // namespace headroom
