#include "hardware/llm/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/file_roles.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

using IndexJson = nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;        // as the format's own reader
constexpr std::int64_t kMostStored = std::int64_t{1} << 50;  // bytes

IndexJson parse_object(const std::string& text, const std::string& file) {
  IndexJson json;
  try {
    json = IndexJson::parse(text);
  } catch (const IndexJson::exception& e) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .origin = file,
                                .problem = fmt::format("not JSON: {}", e.what())});
  }
  if (!json.is_object())
    throw ConfigError(Complaint{.origin = file, .problem = "not a JSON object"});
  return json;
}

bool is_count(const IndexJson& value) {
  return value.is_number_integer() && value >= 0 && value <= kMostStored;
}

ConfigError bad_byte(const std::string& file, std::uint64_t offset, const std::string& problem) {
  return ConfigError(
      Complaint{.origin = file, .problem = fmt::format("byte {}: {}", offset, problem)});
}

// The header's text, and in `room` the bytes of weights behind it.
std::string header_text(const std::filesystem::path& path, std::uint64_t& room) {
  const std::string file = path.string();
  note_input(file);
  std::ifstream in(path, std::ios::binary);
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  if (!in || failed) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::unreadable, .origin = file, .problem = "cannot be opened as a file"});
  }
  std::array<char, 8> raw{};
  in.read(raw.data(), raw.size());
  if (!in) throw bad_byte(file, 0, fmt::format("cut off: the file has {} bytes", size));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
  }
  if (length < 2 || length > kLongestHeader) {
    throw bad_byte(file, 0, fmt::format("a header of {} bytes: 2 to {}", length, kLongestHeader));
  }
  if (length > size - raw.size()) {
    throw bad_byte(file, 0,
                   fmt::format("cut off: a header of {} bytes in a file of {}", length, size));
  }
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  if (!in) throw bad_byte(file, raw.size(), "cannot be read");
  room = size - raw.size() - length;
  return text;
}

}  // namespace

SafetensorsIndex read_safetensors_index(const std::filesystem::path& path) {
  const std::string file = path.string();
  const IndexJson json = parse_object(read_text_file(path), file);
  SafetensorsIndex index;
  const auto complain = [&](std::string pointer, std::string problem) {
    return ConfigError(
        Complaint{.origin = file, .pointer = std::move(pointer), .problem = std::move(problem)});
  };
  const auto metadata = json.find("metadata");
  if (metadata != json.end() && metadata->is_object() && metadata->contains("total_size")) {
    const IndexJson& total = metadata->at("total_size");
    // Some writers have it as a whole number with a decimal point.
    const bool whole = total.is_number_float() && total >= 0 && total <= kMostStored &&
                       total.get<double>() == static_cast<double>(total.get<std::int64_t>());
    if (!is_count(total) && !whole) {
      throw complain("/metadata/total_size",
                     fmt::format("{}: a whole number up to 2^50", total.dump()));
    }
    index.total = total.get<std::int64_t>();
  }
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    throw complain("/weight_map", "missing, or not an object of tensors and their files");
  }
  std::set<std::string> files;
  for (const auto& entry : map->items()) {
    const bool plain = entry.value().is_string() &&
                       entry.value().get_ref<const std::string&>().find('/') == std::string::npos;
    if (!plain) {
      throw complain(
          "/weight_map/" + entry.key(),
          fmt::format("{}: the name of a file in the same folder", entry.value().dump()));
    }
    files.insert(entry.value().get<std::string>());
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

std::map<std::string, ByteCount> read_safetensors_header(const std::filesystem::path& path) {
  const std::string file = path.string();
  std::uint64_t room = 0;
  const IndexJson json = parse_object(header_text(path, room), file);
  std::map<std::string, ByteCount> tensors;
  std::int64_t end = 0;
  std::int64_t held = 0;  // the loop ends before it can overflow
  for (const auto& entry : json.items()) {
    if (entry.key() == "__metadata__") continue;
    const IndexJson& value = entry.value();
    const IndexJson offsets =
        value.is_object() ? value.value("data_offsets", IndexJson()) : IndexJson();
    const bool valid = offsets.is_array() && offsets.size() == 2 && is_count(offsets[0]) &&
                       is_count(offsets[1]) && offsets[0] <= offsets[1];
    if (!valid) {
      throw ConfigError(
          Complaint{.origin = file,
                    .pointer = fmt::format("/{}/data_offsets", entry.key()),
                    .problem = fmt::format("{}: two byte offsets in order", offsets.dump())});
    }
    const auto last = offsets[1].get<std::int64_t>();
    const std::int64_t bytes = last - offsets[0].get<std::int64_t>();
    tensors[entry.key()] = bytes;
    end = std::max(end, last);
    held += bytes;
    if (held > kMostStored) break;
  }
  if (held > end) {
    throw ConfigError(
        Complaint{.origin = file,
                  .problem = fmt::format("tensors share bytes: more than the {} up to the "
                                         "end of the last one",
                                         end)});
  }
  // A header that was fetched without its weights is complete as it is.
  if (room > 0 && static_cast<std::uint64_t>(end) > room) {
    throw bad_byte(file, room, fmt::format("cut off: {} bytes of weights of {}", room, end));
  }
  return tensors;
}

}  // namespace headroom
