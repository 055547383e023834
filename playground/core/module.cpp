// The functions that worker.js calls. Texts are UTF-8 and end with a zero byte; an answer is valid
// until the next call.

#include <emscripten.h>

#include <string>

#include "playground/core/calls.hpp"
#include "playground/core/kernel_times.hpp"

namespace {

headroom::playground::Calls& calls() {
  static headroom::playground::Calls calls;
  return calls;
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* headroom_call(const char* request) {
  static std::string answer;
  answer = calls().answer(request);
  return answer.c_str();
}

EMSCRIPTEN_KEEPALIVE void headroom_set_kernel_times(const char* name, const char* text) {
  headroom::playground::set_kernel_times(name, text);
  calls().forget();
}
}
