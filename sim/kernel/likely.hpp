#pragma once
// Which way a condition mostly goes, where `[[unlikely]]` behind an `if` does not say it: of one
// operand of && or ||, of ?: and of loops. The compiler lets that way fall through: without it half
// of the jumps that a request takes are always taken (docs/performance.md).

namespace headroom {

[[nodiscard, gnu::always_inline]] inline bool mostly(bool condition) {
  return __builtin_expect(static_cast<long>(condition), 1L) != 0;
}
[[nodiscard, gnu::always_inline]] inline bool rarely(bool condition) {
  return __builtin_expect(static_cast<long>(condition), 0L) != 0;
}

}  // namespace headroom
