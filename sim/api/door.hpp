#pragma once
// The one exception of the library.

#include <exception>
#include <string>

#include "sim/api/headroom.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::api {

// Whatever `work` throws, as an Error.
template <typename Work>
auto behind_door(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const ConfigError& error) {
    const Complaint& about = error.complaint();
    throw Error(error.what(), {.kind = std::string(name_of(about.kind)),
                               .origin = about.origin,
                               .pointer = about.pointer,
                               .value = about.value,
                               .allowed = about.problem,
                               .nearest = about.nearest});
  } catch (const DataError& error) {
    throw Error(error.what(), {.kind = "data"});
  } catch (const std::exception& error) {
    throw Error(error.what(), {.kind = "internal"});
  }
}

}  // namespace headroom::api
