// `headroom list KIND`.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/list.hpp"

namespace headroom {
namespace {

struct ListArguments {
  std::string kind;
  std::vector<std::string> words;  // that an entry must contain
  std::string catalog;
};

std::function<int()> add_list(CLI::App& command) {
  const auto a = std::make_shared<ListArguments>();
  command.add_option("kind", a->kind, list_kinds());
  command.add_option("words", a->words, "only entries that contain all of them: list options rate");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] {
    if (a->kind.empty()) return print(fmt::format("headroom list KIND, one of {}\n", list_kinds()));
    return print(list_text(a->kind, a->catalog, a->words));
  };
}

}  // namespace

const Command kListCommand{"list", "list models, devices, engines, options and more", add_list};

}  // namespace headroom
