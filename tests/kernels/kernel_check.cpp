// How well the kernel library gives back measurements that it was built without:
// scripts/kernel_surfaces.py --check RAW_DIR kernel_check
//
//   kernel_check FOLDER QUERIES
//
// FOLDER holds surface files. A line of QUERIES is: device, class, engine, key (comma-separated),
// point (comma-separated), measured microseconds, and where the point lies: "hole" if it is one
// of the surface's own, else "between" or "outside". Prints Markdown tables of each with median and
// 95th percentile of the relative error per class and device, and the worst case of each class.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "hardware/kernels/kernel_tables.hpp"
#include "hardware/kernels/kernel_words.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

struct Worst {
  double error = 0;
  std::string line;
};

struct Errors {
  std::map<std::string, std::map<std::string, std::vector<double>>> by_class;  // then by device
  std::map<std::string, Worst> worst;                                          // by class
};

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

double number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw DataError("number " + text);
  return value;
}

KernelClass class_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(KernelClass::recurrent_decode); ++i) {
    if (name_of(static_cast<KernelClass>(i)) == name) return static_cast<KernelClass>(i);
  }
  throw DataError("class " + name);
}

const KernelSurface* surface_of(const KernelTables& tables, KernelClass kind,
                                const std::string& engine) {
  for (const KernelEngine e : {KernelEngine::vllm, KernelEngine::sglang, KernelEngine::trtllm}) {
    if (name_of(e) == engine) return tables.surface(kind, e);
  }
  return tables.surface(kind);
}

class Files {
 public:
  explicit Files(std::string folder) : folder_(std::move(folder)) {}

  const KernelTables& tables(const std::string& device) {
    auto& tables = tables_[device];
    if (tables == nullptr) {
      std::ifstream stream(folder_ + "/" + device + ".txt");
      std::string& text = texts_[device];
      text.assign(std::istreambuf_iterator<char>(stream), {});
      tables = std::make_unique<KernelTables>(EmbeddedFile{device, text});
    }
    return *tables;
  }

 private:
  std::string folder_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, std::unique_ptr<KernelTables>> tables_;
};

void ask(Files& files, const std::string& line, std::map<std::string, Errors>& all) {
  std::istringstream stream(line);
  std::string device, kind, engine, key_text, point_text, us_text, where;
  stream >> device >> kind >> engine >> key_text >> point_text >> us_text >> where;
  std::vector<std::int64_t> key;
  for (const std::string& part : parts_of(key_text)) key.push_back(kernel_word(part).value());
  std::vector<double> point;
  for (const std::string& part : parts_of(point_text)) point.push_back(number(part));
  const KernelTables& tables = files.tables(device);
  const KernelSurface* surface = surface_of(tables, class_named(kind), engine);
  if (surface == nullptr) return;
  const double us = surface->time(tables.peaks(), key, point).us;
  const double measured = number(us_text);
  const double error = std::max(us / measured, measured / us) - 1;
  Errors& errors = all[where];
  errors.by_class[kind][device].push_back(error);
  Worst& worst = errors.worst[kind];
  if (error > worst.error) worst = {error, line + fmt::format(" gives {:.1f}", us)};
}

double percentile(std::vector<double> values, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at] * 100;
}

void print(const Errors& errors) {
  std::map<std::string, bool> devices;
  for (const auto& [kind, by_device] : errors.by_class) {
    for (const auto& [device, values] : by_device) devices[device] = true;
  }
  fmt::print("| median / 95 % error in % |");
  for (const auto& [device, present] : devices) fmt::print(" {} |", device);
  fmt::print(" points |\n|---|");
  for (std::size_t i = 0; i <= devices.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const auto& [kind, by_device] : errors.by_class) {
    fmt::print("| {} |", kind);
    std::size_t points = 0;
    for (const auto& [device, present] : devices) {
      const auto found = by_device.find(device);
      if (found == by_device.end()) {
        fmt::print(" |");
        continue;
      }
      points += found->second.size();
      fmt::print(" {:.1f} / {:.1f} |", percentile(found->second, 0.5),
                 percentile(found->second, 0.95));
    }
    fmt::print(" {} |\n", points);
  }
  fmt::print("\nworst:\n");
  for (const auto& [kind, worst] : errors.worst) fmt::print("{}\n", worst.line);
}

int run(const std::string& folder, const std::string& queries) {
  Files files(folder);
  std::map<std::string, Errors> errors;
  std::ifstream stream(queries);
  for (std::string line; std::getline(stream, line);) ask(files, line, errors);
  for (const auto& [where, of] : errors) {
    fmt::print("{}:\n\n", where);
    print(of);
    fmt::print("\n");
  }
  return errors.empty() ? 1 : 0;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: kernel_check FOLDER QUERIES\n", stderr);
    return 2;
  }
  try {
    return headroom::run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernel_check: {}\n", error.what());
    return 2;
  }
}
