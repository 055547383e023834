#pragma once
// Independent work by several threads.

#include <cstddef>
#include <functional>

namespace headroom {

// work(0) .. work(count - 1), each once, by up to `threads` threads, the next free one taking the
// next number. What several of them throw, the lowest number throws here, after all have ended;
// numbers that no thread has taken by then are left out.
void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace headroom
