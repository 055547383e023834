#include "hardware/model_rows.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

std::string lower(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// `name` in lower case: repositories of the hub are found in any case.
bool is_named(const ModelRow& row, std::string_view name) {
  return lower(row.id) == name || (!row.hf_repo.empty() && lower(row.hf_repo) == name) ||
         std::ranges::find(row.aliases, name, lower) != row.aliases.end();
}

// In lower case without dashes: "llama3.1-8b" and "Llama-3.1-8B" are one name.
std::string squeezed(std::string_view name) {
  std::string text = lower(name);
  std::erase_if(text, [](char c) { return c == '-' || c == '_'; });
  return text;
}

// `name` squeezed, without organisation.
bool is_called(const ModelRow& row, std::string_view name) {
  const auto last_part = [](std::string_view repository) {
    return squeezed(repository.substr(repository.find_last_of('/') + 1));
  };
  return squeezed(row.id) == name || last_part(row.hf_repo) == name ||
         std::ranges::find(row.aliases, name, last_part) != row.aliases.end();
}

// The objects of the array that begins behind `from`, by matching braces: of our own file, which is
// known to be JSON without comments.
std::vector<std::string_view> objects_of(std::string_view text, std::size_t from) {
  std::vector<std::string_view> objects;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '{') {
      if (depth++ == 0) begin = i;
    } else if (text[i] == '}') {
      if (--depth == 0) objects.push_back(text.substr(begin, i + 1 - begin));
    } else if (text[i] == ']' && depth == 0) {
      return objects;
    }
  }
  return objects;
}

}  // namespace

class ModelRows::BuiltIn {
 public:
  BuiltIn(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
    constexpr std::string_view kRows = "\"models\": [";
    constexpr std::string_view kFirst = "{\"id\": \"";
    const std::size_t at = text.find(kRows);
    HEADROOM_CHECK(at != std::string_view::npos, "the catalog has no models");
    for (const std::string_view row : objects_of(text, at + kRows.size())) {
      HEADROOM_CHECK(row.starts_with(kFirst), "a model in the catalog does not begin with its id");
      const std::string_view id = row.substr(kFirst.size());
      const auto [at_id, is_new] =
          texts_.emplace(id.substr(0, id.find('"')), Place{row, places_++});
      HEADROOM_CHECK(is_new, "two models in the catalog have the same id");
    }
  }

  [[nodiscard]] std::optional<ModelRow> by_id(std::string_view id) const {
    const auto found = texts_.find(id);
    if (found == texts_.end()) return std::nullopt;
    return parse_model_row(found->second.text, file_, found->second.number);
  }

  // Read at the first call.
  [[nodiscard]] const std::vector<ModelRow>& all() const {
    std::call_once(read_, [this] { rows_ = parse_models(text_, file_); });
    return rows_;
  }

  template <typename Visit>
  void for_each_id(Visit visit) const {
    for (const auto& [id, place] : texts_) visit(id);
  }

 private:
  struct Place {
    std::string_view text;
    std::size_t number;
  };
  std::string_view text_;
  std::string file_;
  std::map<std::string_view, Place> texts_;
  std::size_t places_ = 0;
  mutable std::once_flag read_;
  mutable std::vector<ModelRow> rows_;
};

void ModelRows::set_built_in(std::string_view text, const std::string& file) {
  built_in_ = std::make_shared<const BuiltIn>(text, file);
}

void ModelRows::put(ModelRow row) {
  std::string id = row.id;
  own_.insert_or_assign(std::move(id), std::move(row));
}

std::optional<ModelRow> ModelRows::find(std::string_view name) const {
  const auto own = own_.find(name);
  if (own != own_.end()) return own->second;
  if (built_in_) {
    if (std::optional<ModelRow> row = built_in_->by_id(name)) return row;
  }
  const std::string any_case = lower(name);
  for (const auto& [id, row] : own_) {
    if (is_named(row, any_case)) return row;
  }
  if (!built_in_) return std::nullopt;
  for (const ModelRow& row : built_in_->all()) {
    if (!own_.contains(row.id) && is_named(row, any_case)) return row;
  }
  return std::nullopt;
}

std::string ModelRows::called(std::string_view given) const {
  const std::string name = squeezed(given);
  for (const auto& [id, row] : own_) {
    if (is_called(row, name)) return id;
  }
  if (!built_in_) return "";
  for (const ModelRow& row : built_in_->all()) {
    if (!own_.contains(row.id) && is_called(row, name)) return row.id;
  }
  return "";
}

std::vector<std::string> ModelRows::ids() const {
  std::vector<std::string> ids;
  for (const auto& [id, row] : own_) ids.push_back(id);
  if (built_in_) {
    built_in_->for_each_id([&](std::string_view id) {
      if (!own_.contains(id)) ids.emplace_back(id);
    });
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace headroom
