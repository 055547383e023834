#include "sim/memory/startup_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/lower_case.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "startups";
constexpr int kLevelsBelow = 2;

// By the name that its users write.
const Engine* engine_called(std::string_view name) {
  for (const Engine* engine : engines()) {
    if (engine->launch != nullptr &&
        lower_case(std::string(engine->launch->title)) == lower_case(std::string(name))) {
      return engine;
    }
  }
  return nullptr;
}

std::string text_in(const Json& row, std::string_view key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json object_in(const Json& row, std::string_view key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_object() ? *found : Json::object();
}

// "b9010 (d05fe1d7d)" is 0.9010: releases that are builds.
std::string build_in(std::string_view text) {
  if (text.size() < 2 || text.front() != 'b') return "";
  const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  return end > 1 ? fmt::format("0.{}", text.substr(1, end - 1)) : std::string();
}

bool is_of_release(char c) { return c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The first "major.minor" of a text with all that names the release ("0.20.1rc1.dev16"), that is
// no build without one ("0.1.dev1", "0.0.0+local").
std::string numbers_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) continue;
    const std::size_t dot = text.find_first_not_of("0123456789", at);
    const auto* const last = std::ranges::find_if_not(text.substr(at), is_of_release);
    std::string_view release = text.substr(at, static_cast<std::size_t>(last - &text[at]));
    while (release.ends_with('.')) release.remove_suffix(1);
    const bool is_one = dot != std::string_view::npos && text[dot] == '.' &&
                        release.size() > dot + 1 - at &&
                        std::isdigit(static_cast<unsigned char>(text[dot + 1])) != 0;
    const bool names_one = release != "0.1" && !release.starts_with("0.1.dev") &&
                           release != "0.0" && !release.starts_with("0.0.");
    if (is_one && names_one) return std::string(release);
    at += release.empty() ? 0 : release.size() - 1;
  }
  return "";
}

std::string release_in(const Json& row) {
  const std::string inferred = text_in(row, "version_inferred");
  for (const std::string& text : {text_in(row, "version"), inferred}) {
    for (std::string release : {build_in(text), numbers_in(text)}) {
      if (!release.empty()) return release;
    }
  }
  return "";
}

LoggedStart start_in(const Json& row, const std::string& file, std::size_t number) {
  LoggedStart start;
  start.file = file;
  start.id = text_in(row, "id");
  start.engine_name = text_in(row, "engine");
  start.engine = engine_called(start.engine_name);
  start.release = release_in(row);
  start.model = text_in(row, "model");
  start.file_type = text_in(row, "file_type");
  start.not_scored = text_in(row, "not_scored");
  start.device = text_in(row, "device");
  start.devices = row.value("devices", std::int64_t{0});
  start.in_container = text_in(row, "environment") == "docker";
  start.command = text_in(row, "command");
  start.flags = object_in(row, "flags");
  start.resolved = object_in(row, "resolved");
  start.logged = object_in(row, "logged");
  const Json failed = object_in(row, "failed");
  start.failed_stage = text_in(failed, "stage");
  start.failed_message = text_in(failed, "message");
  start.chooses = chooses_constants(row);
  if (start.id.empty() || start.engine_name.empty() || start.model.empty() ||
      start.device.empty() || start.devices < 1) {
    throw DataError(fmt::format("{}: row {}: a start-up has id, engine, model, device and devices",
                                file, number + 1));
  }
  return start;
}

void read_file(const fs::path& path, std::vector<LoggedStart>& starts) {
  const std::string file = path.filename().string();
  const Json document = Json::parse(read_text_file(path), nullptr, false);
  const Json rows = document.is_object() ? document.value("rows", Json::array()) : Json();
  if (!rows.is_array()) throw DataError(fmt::format("{}: expected {{\"rows\": [...]}}", file));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    try {
      starts.push_back(start_in(rows[i], file, i));
    } catch (const Json::exception& error) {
      throw DataError(fmt::format("{}: row {}: {}", file, i + 1, error.what()));
    }
  }
}

}  // namespace

bool is_host_buffer(std::string_view name) {
  return name.starts_with("CPU") || name.ends_with("_Host");
}

std::vector<std::string> devices_with_buffers(const Json& logged) {
  std::vector<std::string> devices;
  const auto buffers = logged.find("model_buffer_mib");
  if (buffers == logged.end() || !buffers->is_object()) return devices;
  for (const auto& [name, value] : buffers->items()) {
    if (!is_host_buffer(name)) devices.push_back(name);
  }
  return devices;
}

bool chooses_constants(const Json& row) {
  if (row.value("score_only", false)) return false;
  const char last = sha256_hex(text_in(row, "link")).back();
  return last == '0' || last == '2' || last == '4' || last == '6' || last == '8' || last == 'a' ||
         last == 'c' || last == 'e';
}

std::vector<LoggedStart> read_logged_starts(const fs::path& directory) {
  std::vector<LoggedStart> starts;
  for (const fs::path& folder : folders_below(directory, kLevelsBelow)) {
    if (fs::weakly_canonical(folder).filename() != kFolder) continue;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) read_file(file, starts);
  }
  return starts;
}

}  // namespace headroom
