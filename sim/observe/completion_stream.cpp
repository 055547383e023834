#include "sim/observe/completion_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/visible_text.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostCounted = 100'000'000;
constexpr std::size_t kShownBytes = 80;

std::string shown(std::string_view text) { return visible_text(text.substr(0, kShownBytes)); }

std::optional<std::int64_t> counted(const Json& usage, const char* key) {
  const auto found = usage.find(key);
  if (found == usage.end() || !found->is_number_integer()) return std::nullopt;
  const auto count = found->get<std::int64_t>();
  if (count < 0 || count > kMostCounted) return std::nullopt;
  return count;
}

bool has_no_text(const Json& choice) {
  if (!choice.is_object()) return false;
  const auto text = choice.find("text");
  return text != choice.end() && text->is_string() && text->get_ref<const std::string&>().empty();
}

}  // namespace

bool CompletionStream::feed(std::string_view bytes, TimeNs now_ns) {
  while (problem_.empty() && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      rest_ += bytes;
      break;
    }
    rest_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    read_line(rest_, now_ns);
    rest_.clear();
  }
  if (rest_.size() > kMostLineBytes) {
    problem_ = fmt::format("an event of more than {} MiB", kMostLineBytes >> 20);
  }
  return problem_.empty();
}

void CompletionStream::read_line(std::string_view line, TimeNs now_ns) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.starts_with(':') || done_) return;
  constexpr std::string_view kData = "data:";
  if (!line.starts_with(kData)) {
    // Other fields of an event carry nothing here; text that is no event at all is not an answer.
    const bool is_field =
        line.starts_with("event:") || line.starts_with("id:") || line.starts_with("retry:");
    if (!is_field) problem_ = fmt::format("not a stream of events: \"{}\"", shown(line));
    return;
  }
  line.remove_prefix(kData.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (line == "[DONE]") {
    done_ = true;
  } else {
    read_event(line, now_ns);
  }
}

void CompletionStream::read_event(std::string_view data, TimeNs now_ns) {
  const Json event = Json::parse(data, nullptr, false);
  if (!event.is_object()) {
    problem_ = fmt::format("an event that is no JSON object: \"{}\"", shown(data));
    return;
  }
  if (const auto error = event.find("error"); error != event.end() && !error->is_null()) {
    problem_ = fmt::format("the server says: {}", shown(error->dump()));
    return;
  }
  const auto usage = event.find("usage");
  const bool has_usage = usage != event.end() && usage->is_object();
  if (has_usage) {
    if (const auto count = counted(*usage, "prompt_tokens")) prompt_tokens_ = count;
    if (const auto count = counted(*usage, "completion_tokens")) output_tokens_ = count;
  }
  const auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array() || choices->empty()) return;
  // llama.cpp ends with an event that has the usage and a choice without text: no token.
  if (has_usage && chunks_ > 0 && has_no_text(choices->front())) return;
  if (chunks_++ == 0) {
    first_ns_ = now_ns;
  } else {
    gaps_.push_back(now_ns - last_ns_);
  }
  last_ns_ = now_ns;
}

}  // namespace headroom
