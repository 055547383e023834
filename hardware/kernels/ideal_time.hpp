#pragma once
// The time that a kernel would take if bandwidth and arithmetic were used in full, one after the
// other, plus a constant for what every kernel needs to start and finish. Measured times are
// stored and interpolated as multiples of it (kernel_surface.hpp), so it decides how times go on
// between and beyond measured points, not how long a measured point takes.

#include <cstdint>
#include <span>
#include <string_view>

#include "hardware/device.hpp"
#include "hardware/kernels/kernel_shapes.hpp"

namespace headroom {

// Number formats as the surface files name them. Enumerations of kernel_shapes.hpp have the names
// of those that make sense there.
enum class KernelFormat : std::uint8_t {
  bf16,
  fp8,
  fp8_block,
  nvfp4,
  int8,
  int8_weights,
  int4_weights,
  mxfp4_weights,
  mxfp4_mxfp8
};

// Per microsecond. Rates are those of matrix products; a device without one for a format runs it
// at the 16-bit rate, for it only stores weights that way.
struct DevicePeaks {
  double bytes = 0;
  double flops_16_bit = 0;
  double flops_fp8 = 0;
  double flops_fp4 = 0;
  double ops_int8 = 0;
  double link_bytes = 0;        // to other devices of the node, per direction
  double link_peers = 0;        // that these are spread over; 0: any of them gets all
  double decode_attention = 1;  // share of both that attention of decodes attains
  double latency = 1;  // of starting a kernel or an exchange, over that of NVIDIA's devices
};
// Of the data sheet. Where the device takes kernel times of another one (kernels_of): in units of
// what these attain of theirs.
[[nodiscard]] DevicePeaks peaks_of(const DeviceSpec& device);

// Microseconds of a kernel with `key` (what names a surface) at `point` (one value per axis). Both
// as the section of that class has them; kernel_tables.cpp lists the classes.
using KernelKey = std::span<const std::int64_t>;
using KernelPoint = std::span<const double>;
using IdealTime = double (*)(const DevicePeaks& peaks, KernelKey key, KernelPoint point);

namespace ideal {

double linear(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double prefill_attention(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double decode_attention(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double experts(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double all_reduce(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double nccl(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double latent_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double latent_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double latent_kernel_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double latent_kernel_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double latent_bmm(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double sparse_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double sparse_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double recurrent_prefill(const DevicePeaks& peaks, KernelKey key, KernelPoint point);
double recurrent_decode(const DevicePeaks& peaks, KernelKey key, KernelPoint point);

// Kernels of no table, for `sequences` that each bring `tokens` queries behind `prefix` tokens.
struct QueryRows {
  double sequences = 0;
  double tokens = 0;
  double prefix = 0;
};
double index_scores(const DevicePeaks& peaks, const IndexShape& shape, const QueryRows& rows);
double hyper_connections(const DevicePeaks& peaks, std::int64_t streams, std::int64_t hidden,
                         double tokens);
double compressed_attention(const DevicePeaks& peaks, const CompressedShape& shape,
                            const QueryRows& rows);

}  // namespace ideal

}  // namespace headroom
