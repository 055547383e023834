#pragma once
// The options that policies and engines have of their own, each in a struct that only its owner
// knows. So a new policy brings its options along and nothing else has to name them.

#include <any>
#include <typeindex>
#include <utility>
#include <vector>

namespace headroom {

class OptionBag {
 public:
  // What was set, and the defaults of `Section` for the rest.
  template <typename Section>
  [[nodiscard]] const Section& get() const {
    static const Section kDefaults{};
    for (const auto& [type, section] : sections_) {
      if (type == typeid(Section)) return *std::any_cast<Section>(&section);
    }
    return kDefaults;
  }

  template <typename Section>
  [[nodiscard]] Section& edit() {
    for (auto& [type, section] : sections_) {
      if (type == typeid(Section)) return *std::any_cast<Section>(&section);
    }
    sections_.emplace_back(typeid(Section), Section{});
    return *std::any_cast<Section>(&sections_.back().second);
  }

 private:
  std::vector<std::pair<std::type_index, std::any>> sections_;  // a few; in the order of first use
};

}  // namespace headroom
