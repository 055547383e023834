#include "sim/engines/started_log.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/engines/log_text.hpp"
#include "sim/engines/startup_log.hpp"

namespace headroom {
namespace {

using Said = StartFigure;

bool is_host(std::string_view device) {
  return device.starts_with("CPU") || device.ends_with("_Host") || device.ends_with("Host");
}

// What the row says of the device's name: "CUDA0" of "load_tensors:  CUDA0 model buffer
// size" and of "device=CUDA0 size=".
std::string device_of(std::string_view line, const StartLine& row) {
  if (!row.device_before.empty()) {
    const std::string_view front = line.substr(0, line.find(row.device_before));
    const std::size_t begin = front.find_last_of(" \t:");
    return std::string(begin == std::string_view::npos ? front : front.substr(begin + 1));
  }
  const std::size_t at = line.find(row.device_behind);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + row.device_behind.size());
  return std::string(rest.substr(0, rest.find_first_of(" \t\"")));
}

bool is_buffer(const StartLine& row) {
  return !row.device_before.empty() || !row.device_behind.empty();
}

bool is_length(Said which) {
  return which == Said::pool_tokens || which == Said::context_length || which == Said::requests;
}

// Reads the lines of one engine.
class StartedReader {
 public:
  explicit StartedReader(const Engine& engine) : lines_(engine.launch->started) {
    log_.engine = &engine;
  }

  void read(std::string_view line) {
    if (!lines_->load_begins.empty() && contains(line, lines_->load_begins)) buffers_.clear();
    bool is_own = false;
    bool is_read = false;
    for (const StartedLines* of = lines_; of != nullptr; of = of->runs) {
      is_own = is_own || std::ranges::any_of(of->marks, [line](std::string_view mark) {
                 return contains(line, mark);
               });
      for (const StartLine& row : of->rows) {
        is_read = is_read || read_row(line, row);  // the fullest first
      }
    }
    if (is_own) ++marks_;
    if (lines_->read_settings != nullptr) lines_->read_settings(line, log_);
  }

  [[nodiscard]] std::size_t marks() const { return marks_; }
  [[nodiscard]] const Engine& engine() const { return *log_.engine; }

  std::optional<StartedLog> finish() {
    settle_buffers();
    const auto says_memory = [this](Said which) { return log_.figure(which).has_value(); };
    constexpr std::array kOfMemory{Said::allocated, Said::weights,     Said::kv,
                                   Said::graphs,    Said::activations, Said::pool_tokens};
    if (marks_ == 0 || std::ranges::none_of(kOfMemory, says_memory)) return std::nullopt;
    return std::move(log_);
  }

 private:
  bool read_row(std::string_view line, const StartLine& row) {
    std::array<double, kMaxPatternNumbers> numbers{};
    if (!find_pattern(line, row.pattern, numbers)) return false;
    auto* into = &log_.figures;
    if (is_buffer(row)) {
      const std::string device = device_of(line, row);
      if (device.empty()) return false;
      into = &buffers_of(device);
    }
    std::array<std::optional<double>, kStartFigures> said;
    for (std::size_t i = 0; i < row.figures.size(); ++i) {
      const Said which = row.figures[i];
      if (which == Said::skipped) continue;
      auto& sum = said[static_cast<std::size_t>(which)];
      sum = sum.value_or(0) + numbers[i] * (is_length(which) ? 1 : row.gib);
    }
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (!said[i]) continue;
      (*into)[i] = *said[i] + (row.adds ? (*into)[i].value_or(0) : 0);
    }
    return true;
  }

  std::array<std::optional<double>, kStartFigures>& buffers_of(const std::string& device) {
    const auto found = std::ranges::find(buffers_, device, &DeviceBuffers::device);
    if (found != buffers_.end()) return found->gib;
    return buffers_.emplace_back(DeviceBuffers{device, {}}).gib;
  }

  // The fullest device is the one that is short first.
  void settle_buffers() {
    const DeviceBuffers* fullest = nullptr;
    for (const DeviceBuffers& one : buffers_) {
      if (is_host(one.device)) {
        log_.host_gib = log_.host_gib.value_or(0) + one.sum();
        continue;
      }
      log_.buffers.push_back(one);
      if (fullest == nullptr || one.sum() > fullest->sum()) fullest = &one;
    }
    if (fullest == nullptr) return;
    log_.device = fullest->device;
    log_.devices = log_.buffers.size();
    for (std::size_t i = 0; i < kStartFigures; ++i) {
      if (fullest->gib[i]) log_.figures[i] = fullest->gib[i];
    }
  }

  const StartedLines* lines_;
  StartedLog log_;
  std::vector<DeviceBuffers> buffers_;
  std::size_t marks_ = 0;
};

}  // namespace

double DeviceBuffers::sum() const {
  double all = 0;
  for (const auto& one : gib) all += one.value_or(0);
  return all;
}

namespace {

// Of all engines, those with most lines of their own first.
std::vector<StartedReader> readers_of(std::string_view text) {
  std::vector<StartedReader> readers;
  for (const Engine* engine : engines()) {
    if (engine->launch != nullptr && engine->launch->started != nullptr) {
      readers.emplace_back(*engine);
    }
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = without_colours(text.substr(begin, end - begin));
    for (StartedReader& reader : readers) reader.read(line);
    begin = end + 1;
  }
  std::ranges::stable_sort(readers, std::ranges::greater{}, &StartedReader::marks);
  return readers;
}

}  // namespace

std::optional<StartedLog> find_started_log(std::string_view text) {
  for (StartedReader& reader : readers_of(text)) {
    if (std::optional<StartedLog> log = reader.finish()) return log;
  }
  return std::nullopt;
}

const Engine* engine_of_lines(std::string_view text) {
  constexpr std::size_t kFewest = 2;
  const std::vector<StartedReader> readers = readers_of(text);
  if (readers.empty() || readers.front().marks() < kFewest) return nullptr;
  return &readers.front().engine();
}

StartedLog started_log(const StartupLog& log) {
  StartedLog started;
  started.engine = log.engine;
  if (log.model) started.model = log.model->value;
  const auto take = [&started](Said which, const FoundNumber& found) {
    if (found) started.figure(which) = found->value;
  };
  const auto take_count = [&started](Said which, const FoundCount& found) {
    if (found) started.figure(which) = static_cast<double>(found->value);
  };
  const RankMemory& m = log.memory;
  take(Said::total, m.total_gib);
  take(Said::free_before, m.free_gib);
  take(Said::weights, m.weights_gib);
  take(Said::activations, m.activation_gib);
  take(Said::outside, m.non_torch_gib);
  take(Said::kv, reported_pool_gib(log));
  take(Said::graphs, m.graph_gib ? m.graph_gib : m.graph_estimate_gib);
  take_count(Said::pool_tokens, log.kv_tokens ? log.kv_tokens : log.max_tokens);
  take_count(Said::context_length, log.max_model_len ? log.max_model_len : log.max_concurrency_len);
  if (!started.figure(Said::pool_tokens) && log.gpu_blocks && log.block_size) {
    started.figure(Said::pool_tokens) =
        static_cast<double>(log.gpu_blocks->value) * static_cast<double>(log.block_size->value);
  }
  take_count(Said::requests, log.max_num_seqs);
  take(Said::concurrency, log.max_concurrency);
  return started;
}

}  // namespace headroom
