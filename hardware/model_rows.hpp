#pragma once
// The models of a catalog by their names. Those built into the program are many and long, and a run
// needs one: they are found by id without being read, and all are read only when that is not
// enough. Reading is thread-safe.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog_rows.hpp"

namespace headroom {

class ModelRows {
 public:
  // `text` is a models.json that lives as long as the program and has each row's id first; errors
  // call it `file`.
  void set_built_in(std::string_view text, const std::string& file);
  // Takes the place of the row with its id.
  void put(ModelRow row);

  // By id, Hugging Face name or alias; nothing when there is none.
  [[nodiscard]] std::optional<ModelRow> find(std::string_view name) const;
  // Id of the first model, in order, one of whose repositories has this name, in any case, with or
  // without dashes and without its organisation; empty when there is none.
  [[nodiscard]] std::string called(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> ids() const;  // in order

 private:
  class BuiltIn;

  std::shared_ptr<const BuiltIn> built_in_;
  std::map<std::string, ModelRow, std::less<>> own_;
};

}  // namespace headroom
