#include "sim/engines/llamacpp/fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "sim/engines/llamacpp/compute_buffers.hpp"

namespace headroom {
namespace {

// About: the build of pull request 16653. Before it all layers go on the devices, fit or not.
constexpr EngineVersion kFitsParams{0, 7400};
constexpr std::int64_t kPadding = 256;

// What a process holds of a discrete device when the engine first asks for its free memory
// (common/fit.cpp: common_fit_params, through ggml_backend_dev_memory). Libraries and kernels come
// later, out of the margin that the fit leaves. Three logs of a T4: 14,807 of 14,912 MiB are free.
constexpr ByteCount kBareContextBytes = 105 * kMib;

// Layers on one device: those with all of their tensors, then those whose routed experts the host
// holds. The output counts as one of the first.
struct DeviceLayers {
  std::int64_t full = 0;
  std::int64_t parts = 0;
  [[nodiscard]] std::int64_t count() const { return full + parts; }
};
using Layers = std::vector<DeviceLayers>;

class Fitter {
 public:
  Fitter(const BudgetInputs& inputs, const LlamacppBudgetOptions& options)
      : inputs_(inputs), o_(options), rule_(llamacpp_fit_rule(options)) {
    all_ = inputs.model.layers() + 1;
    devices_ = static_cast<std::size_t>(llamacpp_devices(inputs, options));
    room_ = llamacpp_free_bytes(inputs) -
            options.context_before_fit.value_or(llamacpp_context_before_fit(inputs.device)) -
            options.fit_target_bytes;
    if (o_.version < kLlamacppFlash && !o_.n_gpu_layers) o_.n_gpu_layers = 0;
  }

  LlamacppFit run() {
    lower_context();
    LlamacppFit fit{o_, even(), {}};
    // Experts that the user places end the fit behind the context.
    if (!o_.n_gpu_layers && !o_.n_cpu_moe && rule_ != LlamacppFitRule::none &&
        (is_filled_ || !fits(fit.placement))) {
      fit.placement = filled();
    }
    fit.notes = std::move(notes_);
    add_notes(fit);
    return fit;
  }

 private:
  [[nodiscard]] LlamacppPlacement even() const {
    return llamacpp_even_placement(inputs_, o_, o_.n_gpu_layers.value_or(all_));
  }

  [[nodiscard]] ByteCount device_bytes(const LlamacppPlacement& placement,
                                       std::size_t device) const {
    return llamacpp_split(inputs_, o_, placement, static_cast<std::int64_t>(device)).device();
  }

  [[nodiscard]] bool fits(const LlamacppPlacement& placement) const {
    for (std::size_t d = 0; d < devices_; ++d) {
      if (device_bytes(placement, d) > room_) return false;
    }
    return true;
  }

  [[nodiscard]] ByteCount used(const LlamacppPlacement& placement) const {
    ByteCount bytes = 0;
    for (std::size_t d = 0; d < devices_; ++d) bytes += device_bytes(placement, d);
    return bytes;
  }

  // On several devices half a layer each (a sixth of one with experts) and one more is kept for
  // what does not divide.
  [[nodiscard]] ByteCount used_at_most() const {
    const auto count = static_cast<ByteCount>(devices_);
    if (devices_ == 1) return room_;
    ByteCount weights = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      weights += llamacpp_split(inputs_, o_, even(), static_cast<std::int64_t>(d)).device_weights;
    }
    const std::int64_t layers =
        std::clamp<std::int64_t>(o_.n_gpu_layers.value_or(all_), 1, inputs_.model.layers());
    return count * room_ - (count + 1) * (weights / layers) / (has_experts(inputs_.model) ? 6 : 2);
  }

  // An unset context goes down to fit_ctx, until all layers together fit.
  void lower_context() {
    const std::int64_t longest = inputs_.model.max_position;
    const std::int64_t set = o_.ctx_size.value_or(llamacpp_defaults({}, {}, o_.version).ctx_size);
    if (set != 0 || rule_ == LlamacppFitRule::none || longest <= o_.fit_ctx) return;
    if (used(even()) <= static_cast<ByteCount>(devices_) * room_) return;
    const ByteCount most = used_at_most();
    std::int64_t low = o_.fit_ctx / kPadding;                 // taken even when it does not fit
    std::int64_t high = (longest + kPadding - 1) / kPadding;  // does not fit
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      o_.ctx_size = middle * kPadding;
      (used(even()) <= most ? low : high) = middle;
    }
    o_.ctx_size = low * kPadding;
    is_filled_ = devices_ > 1;
    notes_.push_back(fmt::format("ctx_size lowered from {} to {} to fit the device{}", longest,
                                 *o_.ctx_size, devices_ > 1 ? "s" : ""));
  }

  // Devices not in use follow behind, and what no device has is the host's.
  [[nodiscard]] LlamacppPlacement placed(const Layers& layers, bool drops_output = false) const {
    const std::int64_t last = inputs_.model.layers();
    std::int64_t count = 0;
    for (const DeviceLayers& one : layers) count += one.count();
    const std::int64_t end = drops_output ? last : last + 1;
    std::int64_t next = end - count;
    LlamacppPlacement placement;
    placement.devices.assign(static_cast<std::size_t>(inputs_.sharding.pipeline),
                             {static_cast<std::size_t>(last), static_cast<std::size_t>(last)});
    const auto layer = [last](std::int64_t i) {
      return static_cast<std::size_t>(std::min(i, last));
    };
    for (std::size_t d = 0; d < layers.size(); ++d) {
      const std::int64_t begin = next;
      next += layers[d].count();
      placement.devices[d] = {layer(begin), layer(next), begin <= last && next > last};
      if (layers[d].parts == 0) continue;
      placement.host_experts.resize(static_cast<std::size_t>(last), false);
      // The output has no experts.
      std::fill(placement.host_experts.begin() +
                    static_cast<std::ptrdiff_t>(layer(begin + layers[d].full)),
                placement.host_experts.begin() + static_cast<std::ptrdiff_t>(layer(next)), true);
    }
    return placement;
  }

  // The most of `count` things that leave device `d` within its room; none if one is too much.
  template <class With>
  std::int64_t most_that_fit(std::int64_t count, std::size_t d, With with) const {
    std::int64_t low = 0;
    std::int64_t high = count + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (device_bytes(placed(with(middle)), d) <= room_ ? low : high) = middle;
    }
    return low;
  }

  [[nodiscard]] LlamacppPlacement filled() const {
    const bool moves_experts = rule_ == LlamacppFitRule::experts && has_experts(inputs_.model);
    return moves_experts ? with_parts() : with_full();
  }

  // Whole layers, back to front: the output first, or last.
  [[nodiscard]] LlamacppPlacement with_full() const {
    for (const bool drops_output : {false, true}) {
      Layers layers(devices_);
      std::int64_t left = drops_output ? all_ - 1 : all_;
      for (std::size_t d = devices_; d-- > 0;) {
        std::int64_t low = 0;
        std::int64_t high = left + 1;
        while (high - low > 1) {
          layers[d].full = low + (high - low) / 2;
          const bool has_room = device_bytes(placed(layers, drops_output), d) <= room_;
          (has_room ? low : high) = layers[d].full;
        }
        layers[d].full = low;
        left -= low;
      }
      if (drops_output || left == 0 || !llamacpp_output_last(o_))
        return placed(layers, drops_output);
    }
    return even();
  }

  // All layers without their experts, back to front; then with them from the front on, as long as
  // there is room. Part of one more layer's experts may find some, which is not followed.
  [[nodiscard]] LlamacppPlacement with_parts() const {
    Layers layers(devices_);
    std::int64_t left = all_;
    for (std::size_t d = devices_; d-- > 0;) {
      const bool is_last = d + 1 == devices_;
      const auto with = [&](std::int64_t count) {
        Layers tried = layers;
        tried[d].full = is_last && count > 0 ? 1 : 0;
        tried[d].parts = count - tried[d].full;
        return tried;
      };
      const std::int64_t count = most_that_fit(left, d, with);
      layers = with(count);
      left -= count;
    }
    if (left > 0) return placed(layers);
    for (std::size_t d = 0; d < devices_; ++d) {
      std::int64_t parts = 0;
      for (const DeviceLayers& one : layers) parts += one.parts;
      const auto with = [&](std::int64_t count) { return moved(layers, d, count); };
      layers = with(most_that_fit(parts, d, with));
    }
    return placed(layers);
  }

  // `count` layers without experts become whole ones of device `d`: the first of them.
  static Layers moved(Layers layers, std::size_t d, std::int64_t count) {
    for (DeviceLayers& from : layers) {
      const std::int64_t taken = std::min(count, from.parts);
      from.parts -= taken;
      layers[d].full += taken;
      count -= taken;
    }
    return layers;
  }

  void add_notes(LlamacppFit& fit) const {
    const LlamacppPlacement& p = fit.placement;
    const std::int64_t count = p.gpu_layers();
    const std::int64_t on = p.used_devices();
    const std::int64_t moved = std::ranges::count(p.host_experts, true);
    const std::string where =
        devices_ > 1 ? fmt::format("{} devices", on) : std::string("the device");
    if (count < all_ && !o_.n_gpu_layers) {
      fit.notes.push_back(fmt::format("{} of {} layers on {}", count, all_, where));
    }
    if (moved > 0) {
      fit.notes.push_back(
          fmt::format("the routed experts of {} of {} layers are in host memory, the rest of {} "
                      "layers on {}",
                      moved, inputs_.model.layers(), count == all_ ? "all" : "those", where));
    }
    if (inputs_.sharding.pipeline == 1) return;
    std::string text;
    for (std::size_t d = 0; d < p.devices.size(); ++d) {
      const LlamacppPlacement::Device& own = p.devices[d];
      text += fmt::format("{}{:.2f} GiB ({} layers{})", d > 0 ? ", " : "",
                          gib_from_bytes(own.is_used() ? device_bytes(p, d) : 0),
                          own.last - own.first, own.output ? " and the output" : "");
    }
    fit.notes.push_back("weights, KV and buffers of the devices: " + text);
  }

  const BudgetInputs& inputs_;
  LlamacppBudgetOptions o_;
  LlamacppFitRule rule_;
  std::int64_t all_ = 0;  // layers and the output
  std::size_t devices_ = 1;
  ByteCount room_ = 0;      // of one device
  bool is_filled_ = false;  // layer by layer, though an even split might fit
  std::vector<std::string> notes_;
};

}  // namespace

LlamacppFitRule llamacpp_fit_rule(const LlamacppBudgetOptions& options) {
  return options.fit.value_or(options.version >= kFitsParams ? LlamacppFitRule::experts
                                                             : LlamacppFitRule::none);
}

LlamacppFit llamacpp_fit(const BudgetInputs& inputs, const LlamacppBudgetOptions& options) {
  return Fitter(inputs, options).run();
}

ByteCount llamacpp_free_bytes(const BudgetInputs& inputs) {
  return capacity_of(inputs) - inputs.machine.not_free_bytes() - inputs.machine.slack_bytes;
}

ByteCount llamacpp_context_before_fit(const DeviceSpec& device) {
  return device.memory_model == MemoryModel::discrete && device.vendor == "nvidia"
             ? kBareContextBytes
             : kContextBytes;
}

}  // namespace headroom
