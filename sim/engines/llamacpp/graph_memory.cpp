#include "sim/engines/llamacpp/graph_memory.hpp"

#include <algorithm>
#include <limits>

namespace headroom {
namespace {

constexpr ByteCount kAlignment = 128;  // of the buffers of CUDA; others differ by less than 1 KiB

struct Extent {
  ByteCount offset = 0;
  ByteCount bytes = 0;
};

// Holes in the order of their offsets; the last one has no end.
class Holes {
 public:
  Extent take(ByteCount bytes) {
    const ByteCount wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    auto best = holes_.end() - 1;
    for (auto hole = holes_.begin(); hole != holes_.end() - 1; ++hole) {
      if (hole->bytes >= wanted && hole->bytes <= best->bytes) best = hole;
    }
    const Extent taken{best->offset, wanted};
    best->offset += wanted;
    best->bytes -= wanted;
    if (best->bytes == 0) holes_.erase(best);
    end_ = std::max(end_, taken.offset + wanted);
    return taken;
  }

  void give_back(Extent extent) {
    auto after = std::ranges::find_if(
        holes_, [&](const Extent& hole) { return hole.offset > extent.offset; });
    if (after->offset == extent.offset + extent.bytes) {
      after->offset = extent.offset;
      after->bytes += extent.bytes;
    } else {
      after = holes_.insert(after, extent);
    }
    if (after == holes_.begin()) return;
    const auto before = after - 1;
    if (before->offset + before->bytes != after->offset) return;
    before->bytes += after->bytes;
    holes_.erase(after);
  }

  [[nodiscard]] ByteCount end() const { return end_; }

 private:
  static constexpr ByteCount kEndless = std::numeric_limits<ByteCount>::max() / 2;
  std::vector<Extent> holes_{{0, kEndless}};
  ByteCount end_ = 0;
};

}  // namespace

GraphMemory::Tensor GraphMemory::append(std::initializer_list<Tensor> sources, ByteCount bytes,
                                        bool in_place) {
  Operation operation{.reads = sources.size(), .bytes = bytes, .in_place = in_place};
  std::copy(sources.begin(), sources.end(), operation.read.begin());
  operations_.push_back(operation);
  return operations_.size() - 1;
}

GraphMemory::Tensor GraphMemory::add(std::initializer_list<Tensor> sources, ByteCount bytes) {
  return append(sources, bytes, false);
}

GraphMemory::Tensor GraphMemory::in_place(std::initializer_list<Tensor> sources, ByteCount bytes) {
  return append(sources, bytes, true);
}

void GraphMemory::keep(Tensor tensor) { operations_[tensor].kept = true; }

ByteCount GraphMemory::peak() const {
  std::vector<std::int32_t> readers(operations_.size(), 0);
  for (const Operation& operation : operations_) {
    for (const Tensor source : operation.sources()) ++readers[source];
  }
  std::vector<Extent> held(operations_.size());
  Holes holes;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    const std::span<const Tensor> sources = operation.sources();
    const auto gives_place = [&](Tensor source) {
      return readers[source] == 1 && !operations_[source].kept && held[source].bytes > 0 &&
             operations_[source].bytes == operation.bytes;
    };
    const auto place =
        operation.in_place ? std::ranges::find_if(sources, gives_place) : sources.end();
    if (place != sources.end()) {
      held[i] = held[*place];
      held[*place] = {};
    } else if (operation.bytes > 0) {
      held[i] = holes.take(operation.bytes);
    }
    for (const Tensor source : sources) {
      if (--readers[source] > 0 || operations_[source].kept || held[source].bytes == 0) continue;
      holes.give_back(held[source]);
      held[source] = {};
    }
  }
  return holes.end();
}

}  // namespace headroom
