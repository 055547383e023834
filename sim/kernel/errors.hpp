#pragma once
// The two errors a user can cause, and what they have in common: the exit code 2. Everything else
// is `InternalError` (sim/kernel/check.hpp) or, where a refusal is expected (no memory, queue
// full), a return value.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headroom {

// Catch this where it does not matter which of the two it is.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class ErrorKind : std::uint8_t {
  value,        // not what is allowed there
  missing,      // something must be given
  unknown,      // a key or a name that nothing has
  no_effect,    // the option would change nothing here
  conflict,     // it cannot stand beside something else that was given
  unsupported,  // it exists, but is not modelled
  unreadable    // a file, folder or text that cannot be read or written
};
[[nodiscard]] std::string_view name_of(ErrorKind kind);

// What a wrong scenario, catalog file or flag is about. Every part but `problem` may be empty.
struct Complaint {
  ErrorKind kind = ErrorKind::value;
  std::string origin = {};   // the file or flag that gave the value
  std::string pointer = {};  // JSON pointer of the value; "/" is the whole document
  std::string value = {};    // as JSON text, shortened
  std::string problem = {};  // what is wrong, or what is allowed
  std::string nearest = {};  // the known name that looks most like it
  std::string context = {};  // where else to look: "in fleet group chat"
};
// "origin: pointer: value V: problem (nearest: N) (context)", on one line.
[[nodiscard]] std::string sentence(const Complaint& complaint);

// A scenario, catalog file or flag is wrong. Programs read `complaint`, people the text.
class ConfigError : public UserError {
 public:
  explicit ConfigError(Complaint complaint)
      : UserError(sentence(complaint)), complaint_(std::move(complaint)) {}
  // By a part that does not know where the value stands; `at` adds that.
  explicit ConfigError(std::string problem, ErrorKind kind = ErrorKind::value)
      : ConfigError(Complaint{.kind = kind, .problem = std::move(problem)}) {}

  [[nodiscard]] const Complaint& complaint() const { return complaint_; }
  [[nodiscard]] bool has_place() const {
    return !complaint_.origin.empty() || !complaint_.pointer.empty();
  }

  // This error as one of the value at `pointer`. An error that has a place of its own (in a file
  // that the value names) becomes the problem there.
  [[nodiscard]] ConfigError at(std::string origin, std::string pointer) const;
  [[nodiscard]] ConfigError with_context(std::string context) const;

 private:
  Complaint complaint_;
};

// A row of a data file is wrong. The text names file:line and what had been read so far.
struct DataError : UserError {
  using UserError::UserError;
};

}  // namespace headroom
