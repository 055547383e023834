// Latent, sparse and recurrent attention.

#include <algorithm>

#include "hardware/kernels/kernel_library_parts.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/det_math.hpp"

namespace headroom {
namespace {

void check_latent(const LatentShape& shape, double rows, double tokens) {
  HEADROOM_CHECK(shape.heads >= 1 && shape.hidden >= 1 && shape.query_rank >= 0 &&
                     shape.kv_rank >= 1 && shape.rope_dim >= 0 && shape.nope_dim >= 1 &&
                     shape.value_dim >= 1 && rows > 0 && tokens > 0,
                 "shape of latent attention");
}

KeyParts<9> module_key(const LatentShape& shape, CacheFormat query) {
  return {code_of(kernel_format(shape.products)),
          code_of(kernel_format(shape.kv)),
          code_of(kernel_format(query)),
          shape.hidden,
          shape.query_rank,
          shape.kv_rank,
          shape.rope_dim,
          shape.nope_dim,
          shape.value_dim};
}

KeyParts<7> kernel_key(KernelFormat format, const LatentShape& shape) {
  return {code_of(format), shape.hidden,   shape.query_rank, shape.kv_rank,
          shape.rope_dim,  shape.nope_dim, shape.value_dim};
}

KeyParts<4> sparse_key(const SparseShape& shape) {
  return {shape.latent.hidden, code_of(kernel_format(shape.latent.products)),
          code_of(kernel_format(shape.latent.kv)), shape.runs_indexer ? 0 : 1};
}

double heads_of(const LatentShape& shape) { return static_cast<double>(shape.heads); }

// Products that prefill and decode share: down to the ranks, queries up, output.
KernelTime shared_products(const KernelLibrary& library, const LatentShape& shape, double m) {
  const std::int64_t query_width = shape.heads * (shape.nope_dim + shape.rope_dim);
  KernelTime time = library.linear(shape.products, m, shape.hidden, shape.heads * shape.value_dim);
  if (shape.query_rank > 0) {
    time += library.linear(shape.products, m, shape.query_rank + shape.kv_rank + shape.rope_dim,
                           shape.hidden);
    time += library.linear(shape.products, m, query_width, shape.query_rank);
  } else {
    time += library.linear(shape.products, m, query_width + shape.kv_rank + shape.rope_dim,
                           shape.hidden);
  }
  return time;
}

KeyParts<4> recurrent_key(const RecurrentShape& shape) {
  HEADROOM_CHECK(
      shape.key_heads >= 1 && shape.key_dim >= 1 && shape.value_heads >= 1 && shape.value_dim >= 1,
      "shape of a recurrent layer");
  return {shape.key_heads, shape.key_dim, shape.value_heads, shape.value_dim};
}

void check_index(const IndexShape& shape, double rows, double tokens) {
  HEADROOM_CHECK(shape.heads >= 1 && shape.width >= 1 && shape.key_bytes >= 1 &&
                     shape.tokens_per_key >= 1 && rows > 0 && tokens > 0,
                 "shape of an indexer");
}

void check_compressed(const CompressedShape& shape, double rows, double tokens) {
  HEADROOM_CHECK(shape.heads >= 1 && shape.width >= 1 && shape.window >= 1 && shape.ratio >= 0 &&
                     shape.picked >= 0 && rows > 0 && tokens > 0,
                 "shape of compressed attention");
}

KernelTime of_kind(KernelTime time, RecurrentKind kind) {
  if (kind != RecurrentKind::gated_delta) time.fit = Fit::extrapolated;
  return time;
}

// Measured over ideal time of the sparse block of DeepSeek-V3.2, which kernels like its parts
// share.
double sparse_prefill_excess(const KernelSurface& surface, CacheFormat kv, std::int64_t heads,
                             const ideal::QueryRows& rows) {
  const SparseShape like{.latent = {.heads = heads, .kv = kv}};
  return det::exp(surface
                      .at(sparse_key(like), PointParts<4>{static_cast<double>(heads),
                                                          rows.sequences, rows.tokens, rows.prefix})
                      .value);
}

double sparse_decode_excess(const KernelSurface& surface, CacheFormat kv, std::int64_t heads,
                            const ideal::QueryRows& rows) {
  const SparseShape like{.latent = {.heads = heads, .kv = kv}};
  return det::exp(surface
                      .at(sparse_key(like), PointParts<3>{static_cast<double>(heads),
                                                          rows.sequences, rows.prefix + 1})
                      .value);
}

CacheFormat key_format(const IndexShape& shape) {
  return shape.key_bytes >= 2 * shape.width ? CacheFormat::bf16 : CacheFormat::fp8;
}

// The one new token of each row is the last of its context.
ideal::QueryRows decoding(double rows, double context) { return {rows, 1, context - 1}; }

}  // namespace

KernelTime KernelLibrary::latent_prefill(const LatentShape& shape, double sequences, double tokens,
                                         double prefix) const {
  check_latent(shape, sequences, tokens);
  HEADROOM_CHECK(prefix >= 0, "prefix below 0");
  const bool in_8_bit = shape.kv == CacheFormat::fp8 && shape.query == CacheFormat::fp8;
  const CacheFormat query = in_8_bit ? CacheFormat::fp8 : CacheFormat::bf16;
  const KernelSurface* block = tables_->own_surface(KernelClass::latent_prefill);
  const auto of = [&](double length) {
    const PointParts<3> point{heads_of(shape), sequences, length};
    if (block != nullptr) return tables_->time(*block, module_key(shape, query), point);
    KernelTime time = tables_->time(tables_->surface(KernelClass::latent_kernel_prefill),
                                    kernel_key(kernel_format(shape.kv), shape), point);
    const double m = sequences * length;
    time += shared_products(*this, shape, m);
    time +=
        linear(shape.products, m, shape.heads * (shape.nope_dim + shape.value_dim), shape.kv_rank);
    return time;
  };
  if (prefix == 0) return of(tokens);
  return behind_prefix(of(prefix + tokens), of(prefix), of(tokens));
}

KernelTime KernelLibrary::latent_decode(const LatentShape& shape, double rows,
                                        double context) const {
  check_latent(shape, rows, context);
  const PointParts<3> point{heads_of(shape), rows, context};
  if (const KernelSurface* block = tables_->own_surface(KernelClass::latent_decode)) {
    return tables_->time(*block, module_key(shape, CacheFormat::bf16), point);
  }
  KernelTime time = tables_->time(tables_->surface(KernelClass::latent_kernel_decode),
                                  kernel_key(kernel_format(shape.kv), shape), point);
  time += shared_products(*this, shape, rows);
  // Queries into the compressed space and outputs back.
  const KernelFormat format =
      shape.products == ProductFormat::bf16 ? KernelFormat::bf16 : KernelFormat::fp8;
  time += tables_
              ->time(tables_->surface(KernelClass::latent_bmm), kernel_key(format, shape),
                     PointParts<2>{heads_of(shape), rows})
              .times(2);
  return time;
}

KernelTime KernelLibrary::sparse_prefill(const SparseShape& shape, double sequences, double tokens,
                                         double prefix) const {
  check_latent(shape.latent, sequences, tokens);
  HEADROOM_CHECK(prefix >= 0, "prefix below 0");
  return tables_->time(tables_->surface(KernelClass::sparse_prefill), sparse_key(shape),
                       PointParts<4>{heads_of(shape.latent), sequences, tokens, prefix});
}

KernelTime KernelLibrary::sparse_decode(const SparseShape& shape, double rows,
                                        double context) const {
  check_latent(shape.latent, rows, context);
  return tables_->time(tables_->surface(KernelClass::sparse_decode), sparse_key(shape),
                       PointParts<3>{heads_of(shape.latent), rows, context});
}

KernelTime KernelLibrary::index_prefill(const IndexShape& shape, double sequences, double tokens,
                                        double prefix) const {
  check_index(shape, sequences, tokens);
  const ideal::QueryRows rows{sequences, tokens, prefix};
  const double excess = sparse_prefill_excess(tables_->surface(KernelClass::sparse_prefill),
                                              key_format(shape), shape.heads, rows);
  return {excess * ideal::index_scores(tables_->peaks, shape, rows), Fit::extrapolated};
}

KernelTime KernelLibrary::index_decode(const IndexShape& shape, double rows, double context) const {
  check_index(shape, rows, context);
  const ideal::QueryRows all = decoding(rows, context);
  const double excess = sparse_decode_excess(tables_->surface(KernelClass::sparse_decode),
                                             key_format(shape), shape.heads, all);
  return {excess * ideal::index_scores(tables_->peaks, shape, all), Fit::extrapolated};
}

KernelTime KernelLibrary::compressed_prefill(const CompressedShape& shape, double sequences,
                                             double tokens, double prefix) const {
  check_compressed(shape, sequences, tokens);
  const ideal::QueryRows rows{sequences, tokens, prefix};
  const double excess = sparse_prefill_excess(tables_->surface(KernelClass::sparse_prefill),
                                              shape.kv, shape.heads, rows);
  return {excess * ideal::compressed_attention(tables_->peaks, shape, rows), Fit::extrapolated};
}

KernelTime KernelLibrary::compressed_decode(const CompressedShape& shape, double rows,
                                            double context) const {
  check_compressed(shape, rows, context);
  const ideal::QueryRows all = decoding(rows, context);
  const double excess = sparse_decode_excess(tables_->surface(KernelClass::sparse_decode), shape.kv,
                                             shape.heads, all);
  return {excess * ideal::compressed_attention(tables_->peaks, shape, all), Fit::extrapolated};
}

KernelTime KernelLibrary::hyper_connections(std::int64_t streams, std::int64_t hidden,
                                            double tokens) const {
  HEADROOM_CHECK(streams >= 1 && hidden >= 1 && tokens > 0, "shape of hyper-connections");
  return {ideal::hyper_connections(tables_->peaks, streams, hidden, tokens), Fit::extrapolated};
}

KernelTime KernelLibrary::recurrent_prefill(const RecurrentShape& shape, double sequences,
                                            double tokens) const {
  HEADROOM_CHECK(sequences > 0 && tokens > 0, "an amount of a recurrent layer");
  return of_kind(tables_->recurrent_time(KernelClass::recurrent_prefill, recurrent_key(shape),
                                         PointParts<2>{sequences, tokens}),
                 shape.kind);
}

KernelTime KernelLibrary::recurrent_decode(const RecurrentShape& shape, double rows) const {
  HEADROOM_CHECK(rows > 0, "an amount of a recurrent layer");
  return of_kind(tables_->recurrent_time(KernelClass::recurrent_decode, recurrent_key(shape),
                                         PointParts<1>{rows}),
                 shape.kind);
}

}  // namespace headroom
