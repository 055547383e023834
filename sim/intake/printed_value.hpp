#pragma once
// Values as Python and Rust print them for people: {'max_num_seqs': 8}, Namespace(model='x'),
// Args { num_shard: Some(2) }, ['vllm', 'serve'].

#include <string_view>

#include "sim/options/json.hpp"

namespace headroom {

struct PrintedValue {
  Json value;  // what has named parts is an object, whatever it is called; None is null
  // The text ends, or goes on with something else, before the value does: it holds what was read.
  bool is_cut = false;
};

// The value that `text` begins with; what stands behind it does not matter.
[[nodiscard]] PrintedValue printed_value(std::string_view text);

}  // namespace headroom
