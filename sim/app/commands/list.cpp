// `headroom list KIND`.

#include <CLI/CLI.hpp>

#include <memory>

#include "sim/app/command.hpp"
#include "sim/app/list.hpp"

namespace headroom {
namespace {

struct ListArguments {
  std::string kind;
  std::string catalog;
};

std::function<int()> add_list(CLI::App& command) {
  const auto a = std::make_shared<ListArguments>();
  command.add_option("kind", a->kind, list_kinds())->required();
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] { return print(list_text(a->kind, a->catalog)); };
}

}  // namespace

const Command kListCommand{"list", "list models, devices, engines, options and more", add_list};

}  // namespace headroom
