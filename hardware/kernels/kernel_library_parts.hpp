#pragma once
// Inside the kernel library: what its source files share.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/kernels/kernel_library.hpp"
#include "hardware/kernels/kernel_tables.hpp"

namespace headroom {

// The parts of a query's key and its point, in the order of kernel_tables.cpp.
template <std::size_t N>
using KeyParts = std::array<std::int64_t, N>;
template <std::size_t N>
using PointParts = std::array<double, N>;

struct KernelLibrary::Tables {
  Tables(const EmbeddedFile& file, const DeviceSpec& device, KernelEngine own,
         std::span<const EmbeddedFile> files);

  // The engine's own surface or, where it lacks the class, another one's. ConfigError: the
  // class was not measured on this device.
  [[nodiscard]] const KernelSurface& surface(KernelClass kind) const { return surface(file, kind); }
  [[nodiscard]] const KernelSurface& surface(const KernelTables& of, KernelClass kind) const;
  // Null: not measured in any engine.
  [[nodiscard]] const KernelSurface* find(const KernelTables& of, KernelClass kind) const;
  // Null: not measured in that engine.
  [[nodiscard]] const KernelSurface* own_surface(KernelClass kind) const {
    return file.surface(kind, engine);
  }
  // Of attention: where the engine's surface was measured with smaller heads alone, that of another
  // engine with heads of this size. FlashAttention and FlashInfer end at 256 on most devices, and
  // all engines then run kernels in Triton.
  [[nodiscard]] const KernelSurface& attention_surface(KernelClass kind, KernelKey key) const;
  // Whether vLLM and SGLang run Marlin: it unpacks weights that the device's units cannot multiply
  // to 16 bits inside the product.
  [[nodiscard]] bool unpacks(KernelFormat format) const;
  // How Marlin's product of m x k activations with n x k weights compares with ideal time. It was
  // measured as experts alone: those of the nearest size, with m tokens each. Null: not there.
  [[nodiscard]] std::optional<LogRatio> marlin_ratio(double m, std::int64_t n,
                                                     std::int64_t k) const;
  // `time` on the device that the library is for.
  [[nodiscard]] KernelTime time(const KernelSurface& surface, KernelKey key,
                                KernelPoint point) const;
  // That `gpus` devices exchange `elements`. Devices with a link to each other attain of the links
  // in use what they attain of all; those of the tables, behind a switch, more the more they are.
  // The share grows with the time that bytes take, not with bytes: latencies do not scale.
  [[nodiscard]] KernelTime exchange(const KernelSurface& surface, KernelKey key, std::int64_t gpus,
                                    double elements) const;
  // The same of recurrent(kind).
  [[nodiscard]] KernelTime recurrent_time(KernelClass kind, KernelKey key, KernelPoint point) const;
  // Over what the rates of the device make of another one's kernels; 1: not tuned for it.
  [[nodiscard]] double tuned(DeviceSpec::KernelsOf::Tuned::Kernels kernels, KernelFormat format,
                             double tokens) const;
  // At best scaled_from_relative where the tables are another device's.
  [[nodiscard]] KernelTime marked(KernelTime time) const;

  // Of a class of recurrent layers: those of `file`, or of the nearest device that has it.
  [[nodiscard]] const KernelTables& recurrent(KernelClass kind) const {
    return stand_in && !file.has(kind) ? *stand_in : file;
  }

  KernelTables file;
  std::unique_ptr<const KernelTables> stand_in;  // null: `file` has all recurrent layers
  KernelEngine engine;
  bool relative = false;
  DevicePeaks peaks;  // of the device that the library is for
  struct TunedRow {
    DeviceSpec::KernelsOf::Tuned row;
    KernelFormat format;
  };
  std::vector<TunedRow> tuned_rows;
};

// All engines, the own one first.
[[nodiscard]] std::array<KernelEngine, 3> engines_from(KernelEngine own);

[[nodiscard]] KernelFormat kernel_format(ProductFormat format);
[[nodiscard]] KernelFormat kernel_format(CacheFormat format);
[[nodiscard]] KernelFormat kernel_format(ExpertFormat format);
// The format with as many bits that Marlin multiplies in 16 bits.
[[nodiscard]] KernelFormat unpacked(KernelFormat format);
[[nodiscard]] inline std::int64_t code_of(KernelFormat format) {
  return static_cast<std::int64_t>(format);
}

// `whole` less `prefix`, never below what the new tokens alone take.
[[nodiscard]] KernelTime behind_prefix(const KernelTime& whole, const KernelTime& prefix,
                                       const KernelTime& alone);

}  // namespace headroom
