#pragma once
// What an action complains about, as tests compare it: kind and place, not the sentence, which may
// be put better one day. `complaint` is there for tests of its other parts (the nearest name, who
// gave the value), `text` for the few that pin a sentence.

#include <optional>
#include <ostream>
#include <string>

#include "sim/kernel/errors.hpp"

namespace headroom::test {

struct About {
  ErrorKind kind = ErrorKind::value;
  std::string pointer = {};
  std::string text = {};
  Complaint complaint = {};

  friend bool operator==(const About& a, const About& b) {
    return a.kind == b.kind && a.pointer == b.pointer;
  }
  friend std::ostream& operator<<(std::ostream& out, const About& about) {
    return out << name_of(about.kind) << " at " << about.pointer << " (" << about.text << ")";
  }
};

// The ConfigError that `action` ends with; empty when it ends without one.
template <typename Action>
std::optional<Complaint> complaint_of(Action action) {
  try {
    static_cast<void>(action());
  } catch (const ConfigError& error) {
    return error.complaint();
  }
  return std::nullopt;
}

inline About no_error() { return {.pointer = "no error"}; }

template <typename Action>
About about(Action action) {
  const std::optional<Complaint> complaint = complaint_of(action);
  if (!complaint) return no_error();
  return {complaint->kind, complaint->pointer, sentence(*complaint), *complaint};
}

inline About value_at(std::string pointer) { return {ErrorKind::value, std::move(pointer)}; }
inline About missing_at(std::string pointer) { return {ErrorKind::missing, std::move(pointer)}; }
inline About unknown_at(std::string pointer) { return {ErrorKind::unknown, std::move(pointer)}; }
inline About no_effect_at(std::string pointer) {
  return {ErrorKind::no_effect, std::move(pointer)};
}
inline About conflict_at(std::string pointer) { return {ErrorKind::conflict, std::move(pointer)}; }
inline About unsupported_at(std::string pointer) {
  return {ErrorKind::unsupported, std::move(pointer)};
}
inline About unreadable_at(std::string pointer) {
  return {ErrorKind::unreadable, std::move(pointer)};
}

}  // namespace headroom::test
