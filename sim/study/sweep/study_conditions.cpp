// Which points of a study are left out: comparisons of what is varied.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/kernel/check.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

struct ComparatorName {
  std::string_view name;
  Comparator comparator;
};
constexpr std::array kComparators{
    ComparatorName{"==", Comparator::equal},  ComparatorName{"!=", Comparator::not_equal},
    ComparatorName{"<", Comparator::less},    ComparatorName{"<=", Comparator::less_or_equal},
    ComparatorName{">", Comparator::greater}, ComparatorName{">=", Comparator::greater_or_equal},
    ComparatorName{"in", Comparator::one_of}};

bool is_order(Comparator comparator) {
  return comparator != Comparator::equal && comparator != Comparator::not_equal &&
         comparator != Comparator::one_of;
}

// Values of different kinds cannot be compared; null is a kind of its own that equals itself.
std::string_view kind_of(const Json& value) {
  if (value.is_number()) return "number";
  if (value.is_string()) return "text";
  if (value.is_boolean()) return "true or false";
  if (value.is_array()) return "list";
  return value.is_null() ? "null" : "object";
}

bool equal(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() ? a.get<double>() == b.get<double>() : a == b;
}

bool compare(const Json& left, Comparator comparator, const Json& right) {
  switch (comparator) {
    case Comparator::equal: return equal(left, right);
    case Comparator::not_equal: return !equal(left, right);
    case Comparator::less: return left.get<double>() < right.get<double>();
    case Comparator::less_or_equal: return left.get<double>() <= right.get<double>();
    case Comparator::greater: return left.get<double>() > right.get<double>();
    case Comparator::greater_or_equal: return left.get<double>() >= right.get<double>();
    case Comparator::one_of:
      return std::ranges::any_of(right, [&](const Json& one) { return equal(left, one); });
  }
  HEADROOM_CHECK(false, "a comparator that does not exist");
}

class ConditionReader {
 public:
  ConditionReader(const JsonDocument& document, const std::vector<AxisGroup>& groups)
      : document_(document), groups_(groups) {}

  [[nodiscard]] std::vector<StudyCondition> list(const std::string& pointer) const {
    std::vector<StudyCondition> conditions;
    const std::string key = pointer.substr(1);
    if (!document_.root.contains(key)) return conditions;
    const Json& list = document_.root[key];
    if (!list.is_array() || list.empty()) {
      throw value_error(document_, pointer, list,
                        "expected a list of conditions, e.g. [{\"engine.max_num_seqs\": {\">\": "
                        "64}}]");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      conditions.push_back(condition(fmt::format("{}/{}", pointer, i), list[i]));
    }
    return conditions;
  }

 private:
  [[nodiscard]] StudyCondition condition(const std::string& pointer, const Json& value) const {
    if (!value.is_object() || value.empty()) {
      throw value_error(document_, pointer, value,
                        "expected an object of varied paths and comparisons");
    }
    StudyCondition condition;
    for (const auto& [path, wanted] : value.items()) {
      const std::string here = pointer + "/" + pointer_token(path);
      const AxisRef left = axis_of(here, path);
      if (!wanted.is_object()) {
        condition.push_back(comparison(here, left, "==", wanted));
        continue;
      }
      if (wanted.empty())
        throw value_error(document_, here, wanted, "missing value to compare with");
      for (const auto& [name, operand] : wanted.items()) {
        condition.push_back(comparison(here + "/" + pointer_token(name), left, name, operand));
      }
    }
    return condition;
  }

  [[nodiscard]] AxisRef axis_of(const std::string& pointer, const std::string& path) const {
    const std::string wanted =
        dotted_path(path_keys(whole_path(path, document_.name), document_.name, pointer));
    std::vector<std::string> varied;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t a = 0; a < groups_[g].size(); ++a) {
        if (groups_[g][a].path == wanted) return {g, a};
        varied.push_back(groups_[g][a].path);
      }
    }
    throw key_error(document_, pointer,
                    "this study does not vary this path: expected one of the varied paths",
                    ErrorKind::unknown, nearest_name(wanted, varied));
  }

  [[nodiscard]] StudyComparison comparison(const std::string& pointer, AxisRef left,
                                           const std::string& name, const Json& operand) const {
    const auto* const found =
        std::ranges::find(kComparators, std::string_view(name), &ComparatorName::name);
    if (found == kComparators.end()) {
      throw key_error(document_, pointer,
                      "unknown comparison: expected one of ==, !=, <, <=, >, >=, in",
                      ErrorKind::unknown);
    }
    StudyComparison result{left, found->comparator, operand};
    if (operand.is_object()) {
      expect_keys(document_, pointer, operand, {"axis"});
      if (!operand.contains("axis") || !operand["axis"].is_string()) {
        throw value_error(document_, pointer, operand, "expected {\"axis\": \"a varied path\"}");
      }
      result.right = axis_of(pointer + "/axis", operand["axis"].get<std::string>());
    }
    if (result.comparator == Comparator::one_of && !operand.is_array()) {
      throw value_error(document_, pointer, operand, "expected a list of values");
    }
    check_kinds(pointer, result);
    return result;
  }

  // Every value of the axis must be comparable with every operand.
  void check_kinds(const std::string& pointer, const StudyComparison& comparison) const {
    std::vector<Json> operands{comparison.constant};
    if (comparison.right) operands = values_of(*comparison.right);
    if (comparison.comparator == Comparator::one_of) {
      operands.assign(comparison.constant.begin(), comparison.constant.end());
    }
    const bool order = is_order(comparison.comparator);
    for (const Json& value : values_of(comparison.left)) {
      for (const Json& operand : operands) {
        const bool fits =
            order ? value.is_number() && operand.is_number()
                  : kind_of(value) == kind_of(operand) || value.is_null() || operand.is_null();
        if (fits) continue;
        throw value_error(
            document_, pointer, operand,
            fmt::format("cannot be compared with {}, a value of {}: {}", value.dump(),
                        axis(comparison.left).path,
                        order ? "only numbers have an order" : "of a different type"));
      }
    }
  }

  [[nodiscard]] const StudyAxis& axis(AxisRef ref) const { return groups_[ref.group][ref.axis]; }
  [[nodiscard]] const std::vector<Json>& values_of(AxisRef ref) const { return axis(ref).values; }

  const JsonDocument& document_;
  const std::vector<AxisGroup>& groups_;
};

}  // namespace

std::vector<StudyCondition> read_conditions(const JsonDocument& document,
                                            const std::string& pointer,
                                            const std::vector<AxisGroup>& groups) {
  return ConditionReader(document, groups).list(pointer);
}

bool holds(const StudyCondition& condition, const std::vector<AxisGroup>& groups,
           const std::vector<std::size_t>& choice) {
  const auto value = [&](AxisRef ref) -> const Json& {
    return groups[ref.group][ref.axis].values[choice[ref.group]];
  };
  return std::ranges::all_of(condition, [&](const StudyComparison& one) {
    return compare(value(one.left), one.comparator, one.right ? value(*one.right) : one.constant);
  });
}

}  // namespace headroom
