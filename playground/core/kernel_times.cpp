#include "playground/core/kernel_times.hpp"

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "hardware/kernels/kernel_library.hpp"

namespace headroom {
namespace {

struct KernelTimes {
  std::map<std::string, std::string> texts;
  std::vector<EmbeddedFile> files;  // of `texts`
};

KernelTimes& kernel_times() {
  static KernelTimes times;
  return times;
}

}  // namespace

std::span<const EmbeddedFile> kernel_files() { return kernel_times().files; }

namespace playground {

void set_kernel_times(const std::string& name, std::string text) {
  KernelTimes& times = kernel_times();
  times.texts[name] = std::move(text);
  times.files.clear();
  for (const auto& [file, content] : times.texts) times.files.push_back({file, content});
}

}  // namespace playground
}  // namespace headroom
