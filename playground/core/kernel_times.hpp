#pragma once
// The kernel times that the page has loaded, in place of those that are part of the program.

#include <string>

namespace headroom::playground {

// `text`: a file of hardware/catalog/kernels, in which a section that is not loaded is its first
// line alone. Replaces the file of that name: what was made of the old one may not be used anymore.
void set_kernel_times(const std::string& name, std::string text);

}  // namespace headroom::playground
