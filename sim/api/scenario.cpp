// Documents: scenarios, and the studies and plans that come with Headroom.

#include <filesystem>
#include <span>
#include <utility>

#include "sim/api/door.hpp"
#include "sim/api/headroom.hpp"
#include "sim/api/scenario_document.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/report/json/json_text.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/plan/plan_file.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom::api {
namespace {

std::string ready_text(std::span<const EmbeddedFile> files, const std::string& name,
                       std::string problem) {
  std::vector<std::string> known;
  for (const EmbeddedFile& file : files) {
    known.push_back(std::filesystem::path(file.name).stem().string());
    if (known.back() == name) return std::string(file.content);
  }
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .origin = name,
                              .problem = std::move(problem),
                              .nearest = nearest_name(name, known)});
}

}  // namespace

Scenario::Scenario(std::unique_ptr<Document> document) : document_(std::move(document)) {}
Scenario::Scenario(const Scenario& other)
    : document_(std::make_unique<Document>(*other.document_)) {}
Scenario::Scenario(Scenario&& other) noexcept = default;
Scenario& Scenario::operator=(Scenario other) noexcept {
  document_.swap(other.document_);
  return *this;
}
Scenario::~Scenario() = default;

Scenario Scenario::from_json(std::string_view text, std::string name, std::string folder) {
  return behind_door([&] {
    return Scenario(std::make_unique<Document>(Document{
        .written = {.json = parse_json(text, std::move(name)), .directory = std::move(folder)}}));
  });
}

Scenario Scenario::ready(const std::string& name) {
  return behind_door([&] {
    return from_json(ready_text(scenario_files(), name, "no built-in scenario has this name"),
                     name);
  });
}

void Scenario::set(std::string_view path, std::string_view value) {
  behind_door(
      [&] { set_option(document_->written.json, std::string(path) + "=" + std::string(value)); });
}

void Scenario::replay(const std::string& trace) {
  behind_door([&] { set_trace(document_->written.json, trace); });
}

std::string Scenario::json() const { return json_text(document_->written.json.root); }

std::string ready_study(const std::string& name) {
  return behind_door(
      [&] { return ready_text(study_files(), name, "no built-in study has this name"); });
}

std::string ready_plan(const std::string& name) {
  return behind_door(
      [&] { return ready_text(plan_files(), name, "no built-in plan has this name"); });
}

}  // namespace headroom::api
