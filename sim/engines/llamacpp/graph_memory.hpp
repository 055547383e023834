#pragma once
// How many bytes ggml's allocator gives to the tensors of a graph: each tensor gets memory before
// its operation and returns it after the last one that reads it; the smallest hole that is large
// enough is taken, else the end is moved (ggml/src/ggml-alloc.c: ggml_dyn_tallocr_alloc,
// ggml_gallocr_alloc_graph_impl). Weights and caches have memory of their own and are no tensors
// here; nor are views, so who reads a view reads its source.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

class GraphMemory {
 public:
  using Tensor = std::size_t;

  // The result of an operation that reads `sources`. Operations are added in the order of the
  // graph.
  Tensor add(std::initializer_list<Tensor> sources, ByteCount bytes);
  // As above; takes the place of the first source of its size that nothing else reads
  // (ggml_op_can_inplace: sums, products, norms, softmax, rope, but not through a view).
  Tensor in_place(std::initializer_list<Tensor> sources, ByteCount bytes);
  // Never returns its memory: an output.
  void keep(Tensor tensor);

  [[nodiscard]] ByteCount peak() const;

 private:
  struct Operation {
    std::array<Tensor, 4> read{};  // no allocation: a graph has thousands of operations
    std::size_t reads = 0;
    ByteCount bytes = 0;
    bool in_place = false;
    bool kept = false;
    [[nodiscard]] std::span<const Tensor> sources() const { return {read.data(), reads}; }
  };
  Tensor append(std::initializer_list<Tensor> sources, ByteCount bytes, bool in_place);
  std::vector<Operation> operations_;
};

}  // namespace headroom
