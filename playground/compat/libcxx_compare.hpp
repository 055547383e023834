#pragma once
// Three-way comparison of the library's types whose members' defaulted ones need it.

#include <compare>
#include <string>
#include <utility>
#include <vector>

namespace std {

namespace headroom_detail {

// By < where a type has no <=> of its own.
template <typename Value>
constexpr auto three_way(const Value& a, const Value& b) {
  if constexpr (requires { a <=> b; }) {
    return a <=> b;
  } else {
    return a < b ? weak_ordering::less : b < a ? weak_ordering::greater : weak_ordering::equivalent;
  }
}

}  // namespace headroom_detail

template <typename Character, typename Traits, typename Allocator>
strong_ordering operator<=>(const basic_string<Character, Traits, Allocator>& a,
                            const basic_string<Character, Traits, Allocator>& b) {
  return a.compare(b) <=> 0;
}

template <typename Value, typename Allocator>
weak_ordering operator<=>(const vector<Value, Allocator>& a, const vector<Value, Allocator>& b) {
  return a < b ? weak_ordering::less : b < a ? weak_ordering::greater : weak_ordering::equivalent;
}

}  // namespace std
