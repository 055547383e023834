#pragma once
// How an option is described, once: its name, field, unit, range and meaning. Parsing, `list
// options`, the JSON Schema and resolved.json are all made from such rows.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/options/bounds.hpp"
#include "sim/options/option_bag.hpp"

namespace headroom {

// What a field may be. The type of the field is the type of the option; optional: it may be absent.
using FieldPointer =
    std::variant<bool*, std::optional<bool>*, std::int64_t*, std::optional<std::int64_t>*, double*,
                 std::optional<double>*, std::string*, std::optional<std::string>*,
                 std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*>;

template <typename Section>
using FieldOf =
    std::variant<bool Section::*, std::optional<bool> Section::*, std::int64_t Section::*,
                 std::optional<std::int64_t> Section::*, double Section::*,
                 std::optional<double> Section::*, std::string Section::*,
                 std::optional<std::string> Section::*, std::vector<std::int64_t> Section::*,
                 std::vector<double> Section::*, std::vector<std::string> Section::*>;

// A row over the section's own struct.
template <typename Section>
struct Row {
  std::string_view name = {};  // the last part of its JSON pointer
  FieldOf<Section> field = {};
  std::string_view unit = {};     // empty for names and switches
  Bounds bounds = {};             // of numbers
  std::string_view choices = {};  // of texts: a|b|c; empty = any
  std::string_view doc = {};
  std::string_view absent = {};     // the meaning of an absent optional
  std::string_view only_with = {};  // pointer=a|b: the option has a meaning only then
  // The section that it is part of: results list it only when something of that was given.
  std::string_view group = {};
};

template <typename Section>
[[nodiscard]] FieldPointer field_in(Section& section, const FieldOf<Section>& field) {
  return std::visit([&](auto member) { return FieldPointer(&(section.*member)); }, field);
}

// The same with its section's type forgotten: a row of an OptionBag.
struct OwnRow {
  Row<OptionBag> facts;  // without `field`
  std::function<FieldPointer(OptionBag&)> edit;
  std::function<FieldPointer(const OptionBag&)> read;  // to look at what it points to, only
  std::size_t type = 0;                                // alternative of FieldPointer
};

template <typename Section>
[[nodiscard]] std::vector<OwnRow> own_rows(const std::vector<Row<Section>>& rows) {
  std::vector<OwnRow> own;
  own.reserve(rows.size());
  for (const Row<Section>& row : rows) {
    own.push_back(
        {{.name = row.name,
          .unit = row.unit,
          .bounds = row.bounds,
          .choices = row.choices,
          .doc = row.doc,
          .absent = row.absent,
          .only_with = row.only_with,
          .group = row.group},
         [field = row.field](OptionBag& bag) { return field_in(bag.edit<Section>(), field); },
         [field = row.field](const OptionBag& bag) {
           return field_in(const_cast<Section&>(bag.get<Section>()), field);
         },
         row.field.index()});
  }
  return own;
}

}  // namespace headroom
