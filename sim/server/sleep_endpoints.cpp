#include "sim/server/sleep_endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/server/api_request.hpp"
#include "sim/server/http_status.hpp"
#include "sim/server/media_types.hpp"

namespace headroom {
namespace {

using QueryFields = std::vector<std::pair<std::string_view, std::string_view>>;

// Of plain words and numbers, as all of these are.
QueryFields query_fields(std::string_view query) {
  QueryFields fields;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), field.size() + 1));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) {
      fields.emplace_back(field, std::string_view());
    } else {
      fields.emplace_back(field.substr(0, equals), field.substr(equals + 1));
    }
  }
  return fields;
}

[[noreturn]] void refuse_query(std::string_view name, std::string_view value,
                               std::string_view wanted) {
  throw ApiRefusal(kStatusBadRequest,
                   fmt::format("{} is \"{}\"; expected {}", name, value.substr(0, 80), wanted),
                   std::string(name));
}

SleepWith with_of(std::string_view value) {
  if (value == "abort") return SleepWith::abort;
  if (value == "wait") return SleepWith::wait;
  if (value == "keep") return SleepWith::keep;
  refuse_query("mode", value, "abort, wait or keep");
}

SleepCommand sleep_of(std::string_view query) {
  SleepCommand command;
  for (const auto& [name, value] : query_fields(query)) {
    if (name == "level") {
      if (value != "0" && value != "1" && value != "2") refuse_query(name, value, "0, 1 or 2");
      command.level = value[0] - '0';
    }
    if (name == "mode") command.with = with_of(value);
  }
  if (command.with == SleepWith::keep && command.level > 0) {
    throw ApiRefusal(kStatusBadRequest,
                     "mode=keep is simulated with level=0 alone: the KV cache of the answers that "
                     "are kept would have to be computed again",
                     "mode");
  }
  return command;
}

SleepCommand wake_up_of(std::string_view query) {
  SleepCommand command{.sleeps = false};
  bool all = true;
  for (const auto& [name, value] : query_fields(query)) {
    if (name != "tags") continue;
    if (std::exchange(all, false)) command.weights = command.kv_cache = false;
    if (value == "weights") {
      command.weights = true;
    } else if (value == "kv_cache") {
      command.kv_cache = true;
    } else if (value != "scheduling") {
      refuse_query(name, value, "weights, kv_cache or scheduling");
    }
  }
  return command;
}

}  // namespace

// A client that waits until its command is carried out.
class SleepEndpoints::Waiting final : public HttpWork {
 public:
  Waiting(SleepEndpoints& owner, std::uint64_t command, HttpReply& reply)
      : owner_(owner), command_(command) {
    owner_.waiting_.emplace(command, &reply);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() override { owner_.waiting_.erase(command_); }

 private:
  SleepEndpoints& owner_;
  std::uint64_t command_;
};

SleepEndpoints::SleepEndpoints(SleepTimes wall_times, Emulator& emulator, ServeClock& clock,
                               OpenCompletions& completions)
    : emulator_(emulator), clock_(clock), completions_(completions), mode_(wall_times, *this) {}

std::unique_ptr<HttpWork> SleepEndpoints::begin(const HttpAsk& ask, HttpReply& reply) {
  if (ask.path == "/is_sleeping") {
    reply.send(kStatusOk, kJsonType, fmt::format(R"({{"is_sleeping":{}}})", mode_.is_sleeping()));
    return nullptr;
  }
  const SleepCommand command = ask.path == "/sleep" ? sleep_of(ask.query) : wake_up_of(ask.query);
  return std::make_unique<Waiting>(*this, mode_.command(command), reply);
}

void SleepEndpoints::on_done(std::uint64_t id) {
  if (const auto reply = waiting_.find(id); reply != waiting_.end()) {
    reply->second->send(kStatusOk, kJsonType, "");
  }
}

}  // namespace headroom
