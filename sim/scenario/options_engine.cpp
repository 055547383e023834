// Option rows of /engine, put together from those who own them. Who reads an option decides with
// which engines, batch policies and allocators it has a meaning.

#include <algorithm>

#include "scheduler/batching/policies.hpp"
#include "scheduler/kv/allocators.hpp"
#include "sim/engines/engines.hpp"
#include "sim/scenario/option_tables.hpp"

namespace headroom {
namespace {

constexpr std::string_view kEngine = "/engine/";
constexpr std::string_view kByName = "/engine/name=";
constexpr std::string_view kByScheduler = "/engine/scheduler=";

void append_name(std::string& names, std::string_view name) {
  if (!names.empty()) names += '|';
  names += name;
}

// `taken` is an option, or a section with all of its options.
bool takes(const std::vector<std::string_view>& taken, std::string_view option) {
  return std::ranges::any_of(taken, [&](std::string_view one) {
    return option == one || (option.starts_with(one) && option.substr(one.size()).starts_with('/'));
  });
}

// "a|b" of those in `table` that read the option.
std::string readers_in(const auto& table, std::string_view option) {
  std::string names;
  for (const auto* one : table) {
    if (takes(one->takes, option)) append_name(names, one->name);
  }
  return names;
}

std::string condition_of_readers(std::string_view option) {
  if (std::string names = readers_in(engines(), option); !names.empty()) {
    return std::string(kByName) + names;
  }
  if (std::string names = readers_in(batch_policies(), option); !names.empty()) {
    return std::string(kByScheduler) + names;
  }
  return {};
}

std::string choices_of_parts(std::string_view option) {
  std::string names;
  if (option == "name") {
    for (const Engine* engine : engines()) append_name(names, engine->name);
  } else if (option == "scheduler") {
    for (const BatchPolicy* policy : batch_policies()) append_name(names, policy->name);
  } else if (option == "kv_allocator") {
    for (const AllocatorPolicy& allocator : allocator_policies()) {
      append_name(names, allocator.name);
    }
  }
  return names;
}

class EngineTable {
 public:
  EngineTable() {
    add_shared(
        shared_engine_rows(), [](auto& scenario) -> auto& { return scenario.engine; });
    add_shared(
        api_server_rows(), [](auto& scenario) -> auto& { return scenario.engine.api_server; });
    add_shared(
        speculative_rows(), [](auto& scenario) -> auto& { return scenario.engine.speculative; });
    for (const BatchPolicy* policy : batch_policies()) {
      if (policy->options != nullptr) add_own(policy->options(), kByScheduler, policy->name);
    }
    for (const AllocatorPolicy& allocator : allocator_policies()) {
      if (allocator.options == nullptr) continue;
      add_own(allocator.options(), "/engine/kv_allocator=", allocator.name);
    }
    for (const Engine* engine : engines()) {
      if (engine->options != nullptr) add_own(engine->options(), kByName, engine->name);
    }
  }

  [[nodiscard]] const std::vector<OptionRow>& rows() const { return table_.rows(); }

 private:
  template <typename Section>
  OptionRow row_of(const Row<Section>& row, const FieldReach& reach) {
    return {.pointer = table_.keep(std::string(kEngine) + std::string(row.name)),
            .reach = reach,
            .unit = row.unit,
            .bounds = row.bounds,
            .choices = row.choices,
            .doc = row.doc,
            .absent = row.absent,
            .only_with = row.only_with,
            .group = row.group};
  }

  template <typename Section>
  void add_shared(const std::vector<Row<Section>>& rows, auto section_of) {
    for (const Row<Section>& row : rows) {
      const auto edit = [section_of, field = row.field](Scenario& scenario) {
        return field_in(section_of(scenario), field);
      };
      const auto read = [edit](const Scenario& scenario) {
        return edit(const_cast<Scenario&>(scenario));
      };
      OptionRow option = row_of(row, FieldReach(edit, read, row.field.index()));
      if (option.only_with.empty()) {
        option.only_with = table_.keep(condition_of_readers(row.name));
      }
      if (option.choices.empty()) option.choices = table_.keep(choices_of_parts(row.name));
      table_.add(option);
    }
  }

  void add_own(const std::vector<OwnRow>& rows, std::string_view by, std::string_view owner) {
    for (const OwnRow& row : rows) {
      const auto edit = [field = row.edit](Scenario& scenario) {
        return field(scenario.engine.own);
      };
      const auto read = [field = row.read](const Scenario& scenario) {
        return field(scenario.engine.own);
      };
      OptionRow option = row_of(row.facts, FieldReach(edit, read, row.type));
      if (option.only_with.empty()) {
        option.only_with = table_.keep(std::string(by) + std::string(owner));
      }
      table_.add(option);
    }
  }

  RowTable table_;
};

}  // namespace

std::span<const OptionRow> engine_options() {
  static const EngineTable kTable;
  return kTable.rows();
}

}  // namespace headroom
