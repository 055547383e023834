#pragma once
// The surfaces of one system as they lie in its file: found by class and engine, read when first
// used.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/kernels/ideal_time.hpp"
#include "hardware/kernels/kernel_shapes.hpp"
#include "hardware/kernels/kernel_surface.hpp"
#include "sim/kernel/embedded_file.hpp"

namespace headroom {

// A section of the file has the name of its class.
enum class KernelClass : std::uint8_t {
  linear,
  prefill_attention,
  decode_attention,
  experts,
  all_reduce,
  nccl,
  latent_prefill,
  latent_decode,
  latent_kernel_prefill,
  latent_kernel_decode,
  latent_bmm,
  sparse_prefill,
  sparse_decode,
  recurrent_prefill,
  recurrent_decode
};
[[nodiscard]] std::string_view name_of(KernelClass kind);
[[nodiscard]] std::string_view name_of(KernelEngine engine);

class KernelTables {
 public:
  // DataError with file:line: not such a file.
  explicit KernelTables(const EmbeddedFile& file);

  // Catalog id, architecture and compute capability x 10 of the measured device.
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] std::int32_t sm() const { return sm_; }
  [[nodiscard]] const DevicePeaks& peaks() const { return peaks_; }

  // Whether the class was measured, in any engine. Reads no times.
  [[nodiscard]] bool has(KernelClass kind) const;
  // Null: the engine was not measured there. DataError with file:line: damaged section.
  [[nodiscard]] const KernelSurface* surface(KernelClass kind, KernelEngine engine) const;
  // Classes with one section for all engines (products, NCCL).
  [[nodiscard]] const KernelSurface* surface(KernelClass kind) const;

  // "decode_attention: vllm 0.24.0" for every section.
  [[nodiscard]] std::vector<std::string> sections() const;

 private:
  struct Section {
    std::string kind;
    std::string engine;
    std::string releases;
    std::string_view text;
    mutable std::once_flag read;
    mutable std::unique_ptr<const KernelSurface> surface;
  };

  [[nodiscard]] const KernelSurface* find(KernelClass kind, std::string_view engine) const;
  [[nodiscard]] std::int64_t line_of(std::string_view part) const;
  [[noreturn]] void fail(std::string_view at, const std::string& problem) const;
  void read_facts(std::string_view facts);
  void set_number(std::string_view at, std::string_view name, std::string_view number);
  void add_section(std::string_view text);

  std::string origin_;
  std::string_view content_;
  std::string device_;
  std::string architecture_;
  std::int32_t sm_ = 0;
  DevicePeaks peaks_;
  std::vector<std::unique_ptr<Section>> sections_;
};

}  // namespace headroom
