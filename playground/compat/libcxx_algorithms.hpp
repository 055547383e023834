#pragma once
// The constrained algorithms that the simulator calls, on top of the classic ones.

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace std {

template <typename To, typename From>
requires(sizeof(To) == sizeof(From)) constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

}  // namespace std

namespace std::ranges {

namespace headroom_detail {

template <typename Range>
concept has_ends = requires(Range& range) {
  std::begin(range);
  std::end(range);
};

// A predicate or an order that sees projected values.
template <typename Function, typename Projection>
struct Projected {
  Function& function;
  Projection& projection;

  template <typename Value>
  bool operator()(Value&& value) const {
    return bool(std::invoke(function, std::invoke(projection, std::forward<Value>(value))));
  }
  template <typename A, typename B>
  bool operator()(A&& a, B&& b) const {
    return bool(std::invoke(function, std::invoke(projection, std::forward<A>(a)),
                            std::invoke(projection, std::forward<B>(b))));
  }
};
template <typename Function, typename Projection>
Projected(Function&, Projection&) -> Projected<Function, Projection>;

}  // namespace headroom_detail

template <typename In, typename Out>
struct in_out_result {
  In in;
  Out out;
};
template <typename In1, typename In2>
struct in_in_result {
  In1 in1;
  In2 in2;
};
template <typename Value>
struct min_max_result {
  Value min;
  Value max;
};

// Of a search by predicate: over two iterators, or a range.
#define HEADROOM_RANGES_SEARCH(name)                                                             \
  template <typename I, typename S, typename Predicate, typename Projection = identity>          \
  requires std::sentinel_for<S, I>                                                               \
  constexpr auto name(I first, S last, Predicate predicate, Projection projection = {}) {        \
    return std::name(first, last, headroom_detail::Projected{predicate, projection});            \
  }                                                                                              \
  template <headroom_detail::has_ends Range, typename Predicate, typename Projection = identity> \
  constexpr auto name(Range&& range, Predicate predicate, Projection projection = {}) {          \
    return std::name(std::begin(range), std::end(range),                                         \
                     headroom_detail::Projected{predicate, projection});                         \
  }
HEADROOM_RANGES_SEARCH(any_of)
HEADROOM_RANGES_SEARCH(all_of)
HEADROOM_RANGES_SEARCH(none_of)
HEADROOM_RANGES_SEARCH(find_if)
HEADROOM_RANGES_SEARCH(find_if_not)
HEADROOM_RANGES_SEARCH(count_if)
#undef HEADROOM_RANGES_SEARCH

// Of an order: over two iterators, or a range.
#define HEADROOM_RANGES_ORDER(name)                                                        \
  template <std::input_or_output_iterator I, typename Compare = less,                      \
            typename Projection = identity>                                                \
  constexpr auto name(I first, I last, Compare compare = {}, Projection projection = {}) { \
    return std::name(first, last, headroom_detail::Projected{compare, projection});        \
  }                                                                                        \
  template <headroom_detail::has_ends Range, typename Compare = less,                      \
            typename Projection = identity>                                                \
  constexpr auto name(Range&& range, Compare compare = {}, Projection projection = {}) {   \
    return std::name(std::begin(range), std::end(range),                                   \
                     headroom_detail::Projected{compare, projection});                     \
  }
HEADROOM_RANGES_ORDER(sort)
HEADROOM_RANGES_ORDER(stable_sort)
HEADROOM_RANGES_ORDER(is_sorted)
HEADROOM_RANGES_ORDER(min_element)
HEADROOM_RANGES_ORDER(max_element)
HEADROOM_RANGES_ORDER(make_heap)
HEADROOM_RANGES_ORDER(push_heap)
HEADROOM_RANGES_ORDER(pop_heap)
#undef HEADROOM_RANGES_ORDER

template <headroom_detail::has_ends Range, typename Compare = less, typename Projection = identity>
constexpr auto minmax_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  const auto found = std::minmax_element(std::begin(range), std::end(range),
                                         headroom_detail::Projected{compare, projection});
  return min_max_result<decltype(std::begin(range))>{found.first, found.second};
}

template <headroom_detail::has_ends Range, typename I, typename Compare = less,
          typename Projection = identity>
constexpr void nth_element(Range&& range, I nth, Compare compare = {}, Projection projection = {}) {
  std::nth_element(std::begin(range), nth, std::end(range),
                   headroom_detail::Projected{compare, projection});
}

template <headroom_detail::has_ends Range, typename Compare = less>
constexpr auto max(Range&& range, Compare compare = {}) {
  return *std::max_element(std::begin(range), std::end(range), compare);
}
template <typename Value, typename Compare = less>
constexpr auto max(std::initializer_list<Value> values, Compare compare = {}) {
  return std::max(values, compare);
}

template <typename I, typename S, typename Value, typename Projection = identity>
requires std::sentinel_for<S, I>
constexpr I find(I first, S last, const Value& value, Projection projection = {}) {
  while (first != last && !(std::invoke(projection, *first) == value)) ++first;
  return first;
}
template <headroom_detail::has_ends Range, typename Value, typename Projection = identity>
constexpr auto find(Range&& range, const Value& value, Projection projection = {}) {
  return ranges::find(std::begin(range), std::end(range), value, projection);
}

template <typename I, typename S, typename Value, typename Projection = identity>
requires std::sentinel_for<S, I>
constexpr auto count(I first, S last, const Value& value, Projection projection = {}) {
  std::iter_difference_t<I> found = 0;
  for (; first != last; ++first) found += std::invoke(projection, *first) == value ? 1 : 0;
  return found;
}
template <headroom_detail::has_ends Range, typename Value, typename Projection = identity>
constexpr auto count(Range&& range, const Value& value, Projection projection = {}) {
  return ranges::count(std::begin(range), std::end(range), value, projection);
}

template <std::input_or_output_iterator I, typename Value, typename Compare = less,
          typename Projection = identity>
constexpr auto lower_bound(I first, I last, const Value& value, Compare compare = {},
                           Projection projection = {}) {
  return std::lower_bound(first, last, value, [&](const auto& item, const Value& wanted) {
    return std::invoke(compare, std::invoke(projection, item), wanted);
  });
}
template <headroom_detail::has_ends Range, typename Value, typename Compare = less,
          typename Projection = identity>
constexpr auto lower_bound(Range&& range, const Value& value, Compare compare = {},
                           Projection projection = {}) {
  return ranges::lower_bound(std::begin(range), std::end(range), value, compare, projection);
}

template <std::input_or_output_iterator I, typename Value, typename Compare = less,
          typename Projection = identity>
constexpr auto upper_bound(I first, I last, const Value& value, Compare compare = {},
                           Projection projection = {}) {
  return std::upper_bound(first, last, value, [&](const Value& wanted, const auto& item) {
    return std::invoke(compare, wanted, std::invoke(projection, item));
  });
}
template <headroom_detail::has_ends Range, typename Value, typename Compare = less,
          typename Projection = identity>
constexpr auto upper_bound(Range&& range, const Value& value, Compare compare = {},
                           Projection projection = {}) {
  return ranges::upper_bound(std::begin(range), std::end(range), value, compare, projection);
}

template <headroom_detail::has_ends Range>
constexpr auto reverse(Range&& range) {
  std::reverse(std::begin(range), std::end(range));
  return std::end(range);
}
template <headroom_detail::has_ends Range, typename Old, typename New>
constexpr auto replace(Range&& range, const Old& old_value, const New& new_value) {
  for (auto& item : range) {
    if (item == old_value) item = new_value;
  }
  return std::end(range);
}
template <headroom_detail::has_ends Range, typename Predicate, typename New>
constexpr auto replace_if(Range&& range, Predicate predicate, const New& new_value) {
  for (auto& item : range) {
    if (std::invoke(predicate, item)) item = new_value;
  }
  return std::end(range);
}
template <headroom_detail::has_ends Range, typename Value>
constexpr auto fill(Range&& range, const Value& value) {
  std::fill(std::begin(range), std::end(range), value);
  return std::end(range);
}

template <headroom_detail::has_ends Range, typename Out, typename Function,
          typename Projection = identity>
requires std::input_or_output_iterator<Out>
constexpr auto transform(Range&& range, Out out, Function function, Projection projection = {}) {
  auto in = std::begin(range);
  for (; in != std::end(range); ++in, ++out) {
    *out = std::invoke(function, std::invoke(projection, *in));
  }
  return in_out_result<decltype(in), Out>{in, out};
}
template <headroom_detail::has_ends A, headroom_detail::has_ends B, typename Out, typename Function>
constexpr Out transform(A&& a, B&& b, Out out, Function function) {
  auto other = std::begin(b);
  for (auto in = std::begin(a); in != std::end(a) && other != std::end(b); ++in, ++other, ++out) {
    *out = std::invoke(function, *in, *other);
  }
  return out;
}
template <headroom_detail::has_ends Range, typename Out, typename Predicate,
          typename Projection = identity>
constexpr auto copy_if(Range&& range, Out out, Predicate predicate, Projection projection = {}) {
  const auto end = std::copy_if(std::begin(range), std::end(range), out,
                                headroom_detail::Projected{predicate, projection});
  return in_out_result<decltype(std::begin(range)), Out>{std::end(range), end};
}
template <headroom_detail::has_ends Range, typename Out>
constexpr auto move(Range&& range, Out out) {
  const auto end = std::move(std::begin(range), std::end(range), out);
  return in_out_result<decltype(std::begin(range)), Out>{std::end(range), end};
}
template <headroom_detail::has_ends A, headroom_detail::has_ends B, typename Out>
constexpr auto set_difference(A&& a, B&& b, Out out) {
  return std::set_difference(std::begin(a), std::end(a), std::begin(b), std::end(b), out);
}

template <headroom_detail::has_ends A, headroom_detail::has_ends B, typename Predicate = equal_to,
          typename ProjectionA = identity, typename ProjectionB = identity>
constexpr bool equal(A&& a, B&& b, Predicate predicate = {}, ProjectionA of_a = {},
                     ProjectionB of_b = {}) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                    [&](const auto& x, const auto& y) {
                      return std::invoke(predicate, std::invoke(of_a, x), std::invoke(of_b, y));
                    });
}
template <headroom_detail::has_ends A, headroom_detail::has_ends B, typename Predicate = equal_to>
constexpr auto mismatch(A&& a, B&& b, Predicate predicate = {}) {
  const auto found =
      std::mismatch(std::begin(a), std::end(a), std::begin(b), std::end(b), predicate);
  return in_in_result<decltype(std::begin(a)), decltype(std::begin(b))>{found.first, found.second};
}

}  // namespace std::ranges
