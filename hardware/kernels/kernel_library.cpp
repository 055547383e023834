#include "hardware/kernels/kernel_library.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "hardware/kernels/kernel_library_parts.hpp"
#include "hardware/kernels/kernel_words.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr std::string_view kSuffix = ".txt";
constexpr double kNcclFrom = 262144;      // elements: larger all-reduces may be NCCL's
constexpr std::int64_t kMostKvHeads = 8;  // that engines' decode kernels were measured with

std::string system_of(const EmbeddedFile& file) {
  return std::string(file.name.substr(0, file.name.size() - kSuffix.size()));
}

// How far `device` is from the measured one, the smaller the nearer: generations first.
double distance(const DeviceSpec& device, const KernelTables& file) {
  constexpr double kPerGeneration = 100;
  const double generations = std::max(device.sm, file.sm()) - std::min(device.sm, file.sm());
  const double factor = det::log(peaks_of(device).bytes / file.peaks().bytes);
  return generations * kPerGeneration + std::max(factor, -factor);
}

// Nullptr: `system` has no tables.
const EmbeddedFile* file_of(std::string_view system, std::span<const EmbeddedFile> files) {
  const auto found = std::ranges::find_if(files, [&](const EmbeddedFile& file) {
    return file.name.ends_with(kSuffix) && system_of(file) == system;
  });
  return found == files.end() ? nullptr : &*found;
}

// The device's own, those of the one that its row names (kernels_of), or of the nearest one of its
// architecture. Nullptr: none of them has tables.
const EmbeddedFile* find_file(const DeviceSpec& device, std::span<const EmbeddedFile> files) {
  if (const EmbeddedFile* own = file_of(device.id, files)) return own;
  if (device.kernels_of) return file_of(device.kernels_of->device, files);
  const EmbeddedFile* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const EmbeddedFile& file : files) {
    if (!file.name.ends_with(kSuffix)) continue;
    const KernelTables tables(file);
    if (tables.architecture() != device.architecture) continue;
    const double away = distance(device, tables);
    if (away < least) {
      nearest = &file;
      least = away;
    }
  }
  return nearest;
}

const EmbeddedFile& file_for(const DeviceSpec& device, std::span<const EmbeddedFile> files) {
  if (const EmbeddedFile* found = find_file(device, files)) return *found;
  const std::vector<std::string> known = KernelLibrary::systems(files);
  throw ConfigError(
      Complaint{.kind = ErrorKind::unsupported,
                .value = device.id,
                .problem = "no kernel times of this device or of another one of architecture " +
                           device.architecture + "; there are " + comma_list(known)});
}

bool has_recurrent(const KernelTables& tables) {
  return tables.has(KernelClass::recurrent_prefill) && tables.has(KernelClass::recurrent_decode);
}

// The A100 was measured decoding alone, and a device may lack them altogether. They wait for memory
// rather than for the units that architectures differ in, so those of another one tell more than
// constants of any device. Nullptr: `own` has them, or no file does.
std::unique_ptr<const KernelTables> recurrent_stand_in(const KernelTables& own,
                                                       const DeviceSpec& device,
                                                       std::span<const EmbeddedFile> files) {
  if (has_recurrent(own)) return nullptr;
  std::unique_ptr<const KernelTables> nearest;
  for (const EmbeddedFile& file : files) {
    if (!file.name.ends_with(kSuffix)) continue;
    auto tables = std::make_unique<const KernelTables>(file);
    if (nearest && distance(device, *tables) >= distance(device, *nearest)) continue;
    if (has_recurrent(*tables)) nearest = std::move(tables);
  }
  return nearest;
}

// Formats that stand in for one that was not measured, the best first.
std::vector<KernelFormat> substitutes(KernelFormat format) {
  switch (format) {
    case KernelFormat::fp8: return {KernelFormat::fp8_block, KernelFormat::bf16};
    case KernelFormat::fp8_block:
    case KernelFormat::int8: return {KernelFormat::fp8, KernelFormat::bf16};
    default: return {KernelFormat::bf16};
  }
}

void check_sizes(std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    HEADROOM_CHECK(size >= 1, "a size of a kernel is " + std::to_string(size));
  }
}

void check_amounts(std::initializer_list<double> amounts) {
  for (const double amount : amounts) {
    HEADROOM_CHECK(amount > 0, "an amount of a kernel is " + std::to_string(amount));
  }
}

std::int64_t no_limit_if_longer(std::int64_t window, double context) {
  return static_cast<double>(window) >= context ? 0 : window;
}

}  // namespace

namespace {

// Of the device as it was measured, unless this one is another or runs at other rates (a power cap,
// memory that others use, a slow replica).
DevicePeaks peaks_for(const KernelTables& file, const DeviceSpec& device) {
  const DevicePeaks own = peaks_of(device);
  const DevicePeaks& measured = file.peaks();
  const auto close = [](double a, double b) { return a < b * 1.001 && b < a * 1.001; };
  const bool same = file.device() == device.id && close(own.bytes, measured.bytes) &&
                    close(own.flops_16_bit, measured.flops_16_bit);
  return same ? measured : own;
}

}  // namespace

KernelLibrary::Tables::Tables(const EmbeddedFile& embedded, const DeviceSpec& device,
                              KernelEngine own, std::span<const EmbeddedFile> files)
    : file(embedded),
      stand_in(recurrent_stand_in(file, device, files)),
      engine(own),
      relative(file.device() != device.id),
      peaks(peaks_for(file, device)) {
  if (!relative || !device.kernels_of) return;
  for (const DeviceSpec::KernelsOf::Tuned& row : device.kernels_of->tuned) {
    if (const auto format = kernel_format_named(row.format)) tuned_rows.push_back({row, *format});
  }
}

double KernelLibrary::Tables::tuned(DeviceSpec::KernelsOf::Tuned::Kernels kernels,
                                    KernelFormat format, double tokens) const {
  for (const auto& [row, of] : tuned_rows) {
    if (row.kernels != kernels || of != format) continue;
    const auto above = std::ranges::upper_bound(row.tokens, tokens);
    const auto i = static_cast<std::size_t>(above - row.tokens.begin());
    if (i == 0) return row.times.front();
    if (i == row.tokens.size()) return row.times.back();
    const double part =
        det::log(tokens / row.tokens[i - 1]) / det::log(row.tokens[i] / row.tokens[i - 1]);
    return row.times[i - 1] * det::pow(row.times[i] / row.times[i - 1], part);
  }
  return 1;
}

const KernelSurface* KernelLibrary::Tables::find(const KernelTables& of, KernelClass kind) const {
  for (const KernelEngine candidate : engines_from(engine)) {
    if (const KernelSurface* found = of.surface(kind, candidate)) return found;
  }
  return of.surface(kind);
}

const KernelSurface& KernelLibrary::Tables::surface(const KernelTables& of,
                                                    KernelClass kind) const {
  if (const KernelSurface* found = find(of, kind)) return *found;
  throw ConfigError("no kernel times of " + std::string(name_of(kind)) + " on " + of.device(),
                    ErrorKind::unsupported);
}

const KernelSurface& KernelLibrary::Tables::attention_surface(KernelClass kind,
                                                              KernelKey key) const {
  constexpr std::size_t kHeadSize = 2;  // part of both keys
  const KernelSurface& own = surface(kind);
  if (own.nearest(key)[kHeadSize] >= key[kHeadSize]) return own;
  for (const KernelEngine other : engines_from(engine)) {
    const KernelSurface* found = file.surface(kind, other);
    if (found != nullptr && found->nearest(key)[kHeadSize] == key[kHeadSize]) return *found;
  }
  return own;
}

KernelTime KernelLibrary::Tables::time(const KernelSurface& surface, KernelKey key,
                                       KernelPoint point) const {
  return marked(surface.time(peaks, key, point));
}

KernelTime KernelLibrary::Tables::exchange(const KernelSurface& surface, KernelKey key,
                                           std::int64_t gpus, double elements) const {
  const PointParts<2> point{static_cast<double>(gpus), elements};
  const KernelTime own = time(surface, key, point);
  if (!relative || peaks.link_peers == 0) return own;
  constexpr double kMeasured = 8;  // KernelsOf::link is a share of what so many attain
  const auto rate = [](const DevicePeaks& of, double devices) {
    return of.link_bytes * share_of_links(devices, of.link_peers) * devices / (devices - 1);
  };
  const double as_long = elements * rate(file.peaks(), kMeasured) / rate(peaks, point[0]);
  const LogRatio ratio = surface.at(key, PointParts<2>{kMeasured, as_long});
  const KernelTime meshed = marked(surface.time(peaks, key, point, ratio));
  return meshed.us < own.us ? meshed : own;
}

KernelTime KernelLibrary::Tables::recurrent_time(KernelClass kind, KernelKey key,
                                                 KernelPoint point) const {
  const KernelTables& of = recurrent(kind);
  KernelTime found = time(surface(of, kind), key, point);
  if (&of != &file) found.fit = std::max(found.fit, Fit::scaled_from_relative);
  return found;
}

KernelTime KernelLibrary::Tables::marked(KernelTime time) const {
  if (relative) time.fit = std::max(time.fit, Fit::scaled_from_relative);
  return time;
}

KernelLibrary::KernelLibrary(const DeviceSpec& device, KernelEngine engine,
                             std::span<const EmbeddedFile> files)
    : tables_(std::make_shared<const Tables>(file_for(device, files), device, engine, files)) {}

bool KernelLibrary::is_near(const DeviceSpec& device, std::span<const EmbeddedFile> files) {
  const EmbeddedFile* file = find_file(device, files);
  if (file == nullptr || system_of(*file) == device.id) return file != nullptr;
  return device.kernels_of.has_value() || (device.memory_model != MemoryModel::unified &&
                                           KernelTables(*file).sm() / 10 == device.sm / 10);
}

bool KernelLibrary::has_any_for(const DeviceSpec& device, std::span<const EmbeddedFile> files) {
  return find_file(device, files) != nullptr;
}

std::vector<std::string> KernelLibrary::systems(std::span<const EmbeddedFile> files) {
  std::vector<std::string> ids;
  for (const EmbeddedFile& file : files) {
    if (file.name.ends_with(kSuffix)) ids.push_back(system_of(file));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

const std::string& KernelLibrary::system() const { return tables_->file.device(); }
bool KernelLibrary::is_relative() const { return tables_->relative; }
std::vector<std::string> KernelLibrary::sources() const { return tables_->file.sections(); }

bool KernelLibrary::has_sparse() const {
  return tables_->find(tables_->file, KernelClass::sparse_prefill) != nullptr &&
         tables_->find(tables_->file, KernelClass::sparse_decode) != nullptr;
}

std::string KernelLibrary::recurrent_system() const {
  const KernelTables& of = tables_->recurrent(KernelClass::recurrent_prefill);
  return of.has(KernelClass::recurrent_prefill) ? of.device() : "";
}

bool KernelLibrary::runs_marlin(ProductFormat format, ProductKernel kernel) const {
  const KernelFormat weights = kernel_format(format);
  return weights != KernelFormat::bf16 &&
         (kernel == ProductKernel::marlin || tables_->unpacks(weights));
}

KernelTime KernelLibrary::linear(ProductFormat format, double m, std::int64_t n, std::int64_t k,
                                 ProductKernel kernel) const {
  check_sizes({n, k});
  check_amounts({m});
  const KernelSurface& surface = tables_->surface(KernelClass::linear);
  const KernelFormat weights = kernel_format(format);
  const PointParts<3> point{m, static_cast<double>(n), static_cast<double>(k)};
  if (runs_marlin(format, kernel)) {
    if (const auto ratio = tables_->marlin_ratio(m, n, k)) {
      const KeyParts<1> in_16_bit{code_of(unpacked(weights))};
      return tables_->marked(surface.time(tables_->peaks, in_16_bit, point, *ratio));
    }
  }
  const KeyParts<1> key{code_of(weights)};
  KeyParts<1> found = key;
  for (const KernelFormat other : substitutes(weights)) {
    if (surface.has(found)) break;
    found = {code_of(other)};
  }
  LogRatio ratio = surface.at(found, point);
  if (found != key) ratio.fit = Fit::extrapolated;
  KernelTime time = tables_->marked(surface.time(tables_->peaks, key, point, ratio));
  time.us *= tables_->tuned(DeviceSpec::KernelsOf::Tuned::Kernels::products, weights, m);
  return time;
}

KernelTime KernelLibrary::prefill_attention(const AttentionShape& shape, double sequences,
                                            double tokens, double prefix) const {
  check_sizes({shape.heads, shape.kv_heads, shape.head_dim});
  check_amounts({sequences, tokens});
  HEADROOM_CHECK(prefix >= 0 && shape.window >= 0, "prefix or window below 0");
  const bool in_8_bit = tables_->engine != KernelEngine::vllm && shape.kv == CacheFormat::fp8 &&
                        shape.query == CacheFormat::fp8;
  const auto of = [&](double length) {
    const KeyParts<6> key{shape.heads,
                          shape.kv_heads,
                          shape.head_dim,
                          no_limit_if_longer(shape.window, length),
                          code_of(kernel_format(shape.kv)),
                          code_of(in_8_bit ? KernelFormat::fp8 : KernelFormat::bf16)};
    return tables_->time(tables_->attention_surface(KernelClass::prefill_attention, key), key,
                         PointParts<2>{sequences, length});
  };
  if (prefix == 0) return of(tokens);
  return behind_prefix(of(prefix + tokens), of(prefix), of(tokens));
}

KernelTime KernelLibrary::decode_attention(const AttentionShape& shape, double rows,
                                           double context) const {
  check_sizes({shape.heads, shape.kv_heads, shape.head_dim});
  check_amounts({rows, context});
  HEADROOM_CHECK(shape.window >= 0, "window below 0");
  const KeyParts<5> key{shape.heads, shape.kv_heads, shape.head_dim,
                        no_limit_if_longer(shape.window, context),
                        code_of(kernel_format(shape.kv))};
  const KernelSurface& surface = tables_->attention_surface(KernelClass::decode_attention, key);
  if (shape.kv_heads <= kMostKvHeads || surface.has(key)) {
    return tables_->time(surface, key, PointParts<2>{rows, context});
  }
  // Twice the KV heads are twice the rows: each KV head of each row is work of its own.
  KeyParts<5> fewer = key;
  fewer[0] = std::max<std::int64_t>(1, shape.heads * kMostKvHeads / shape.kv_heads);
  fewer[1] = kMostKvHeads;
  const double more = static_cast<double>(shape.kv_heads) / kMostKvHeads;
  LogRatio ratio = surface.at(fewer, PointParts<2>{rows * more, context});
  ratio.fit = Fit::extrapolated;
  return tables_->marked(surface.time(tables_->peaks, key, PointParts<2>{rows, context}, ratio));
}

KernelTime KernelLibrary::all_reduce(std::int64_t gpus, double elements, bool captured) const {
  check_sizes({gpus});
  check_amounts({elements});
  if (gpus == 1) return {};
  const KeyParts<1> key{captured ? 0 : 1};
  const KernelSurface* surface = &tables_->surface(KernelClass::all_reduce);
  for (const KernelEngine engine : engines_from(tables_->engine)) {
    if (surface->has(key)) break;
    const KernelSurface* other = tables_->file.surface(KernelClass::all_reduce, engine);
    if (other != nullptr) surface = other;
  }
  const KernelTime own = tables_->exchange(*surface, key, gpus, elements);
  if (elements <= kNcclFrom) return own;
  const KernelTime other = nccl(Collective::all_reduce, gpus, elements);
  return other.us < own.us ? other : own;
}

KernelTime KernelLibrary::nccl(Collective operation, std::int64_t gpus, double elements) const {
  check_sizes({gpus});
  check_amounts({elements});
  if (gpus == 1) return {};
  const KeyParts<1> key{static_cast<std::int64_t>(operation)};
  return tables_->exchange(tables_->surface(KernelClass::nccl), key, gpus, elements);
}

}  // namespace headroom
