#include "workloads/counter_stream.hpp"

#include "sim/kernel/random.hpp"

namespace headroom {

// The named stream of the same name gives the key: seed and name are mixed in one place only.
CounterStream::CounterStream(std::uint64_t seed, std::string_view name)
    : key_(RandomStream(seed, name).bits()) {}

}  // namespace headroom
