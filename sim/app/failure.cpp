#include "sim/app/failure.hpp"

#include <exception>
#include <new>

#include "sim/kernel/errors.hpp"

namespace headroom {

Failure current_failure() {
  try {
    throw;
  } catch (const UserError& error) {
    return {kExitUser, error.what()};
  } catch (const std::bad_alloc&) {
    return {kExitUser, "this machine does not have enough memory for the run"};
  } catch (const std::exception& error) {
    return {kExitInternal, error.what()};
  }
}

}  // namespace headroom
