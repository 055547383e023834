#include "sim/intake/container.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/intake/flag_parser.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// docker run --help, Docker 24 to 28.
constexpr std::string_view kWithValue =
    "-e|--env|--env-file|-p|--publish|-v|--volume|--mount|--name|--network|--net|--gpus|--shm-size|"
    "--ipc|-m|--memory|--memory-swap|--memory-reservation|--ulimit|--entrypoint|--runtime|"
    "--restart|-w|--workdir|-u|--user|--cap-add|--cap-drop|--security-opt|--device|--platform|-l|"
    "--label|-h|--hostname|--add-host|--log-opt|--log-driver|-c|--cpus|--cpu-shares|--cpuset-cpus|"
    "--cpuset-mems|--pull|--group-add|--tmpfs|--dns|--expose|--pid|--pids-limit|--stop-timeout|"
    "--health-cmd|--health-interval|--health-timeout|--health-retries|--health-start-period|"
    "--network-alias|--volumes-from|--oom-score-adj|--memory-swappiness|--cgroup-parent|--userns|"
    "--uts|--annotation|--cidfile|--ip|--link|--sysctl|--volume-driver|--hooks-dir";
constexpr std::string_view kSwitches =
    "-i|--interactive|-t|--tty|-it|-ti|-d|--detach|-dit|-itd|-dt|-td|-di|--rm|--privileged|--init|"
    "-P|--publish-all|--read-only|--oom-kill-disable|--no-healthcheck|-q|--quiet|--sig-proxy";

bool listed(std::string_view names, std::string_view name) {
  return std::ranges::count(split(names, '|'), name) > 0;
}

struct Option {
  std::string name;
  std::string value = {};
  std::size_t words = 1;
};

Option option_at(const Draft& draft, std::span<const std::string> words) {
  const std::string& word = words.front();
  const std::size_t equals = word.find('=');
  Option option{.name = word.substr(0, equals)};
  const bool attached = word.size() > 2 && word[1] != '-' && !listed(kSwitches, word) &&
                        listed(kWithValue, word.substr(0, 2));
  if (attached) {  // -eNAME=value, -p8000:8000
    option.name = word.substr(0, 2);
    option.value = word.substr(word[2] == '=' ? 3 : 2);
  } else if (equals != std::string::npos) {
    option.value = word.substr(equals + 1);
  } else if (!listed(kSwitches, option.name)) {
    if (words.size() < 2) {
      throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                  .origin = draft.shown_as,
                                  .pointer = option.name,
                                  .problem = "its value is missing"});
    }
    option.value = words[1];
    option.words = 2;
  }
  return option;
}

void set_variable(Draft& draft, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string name(assignment.substr(0, equals));
  if (equals == std::string_view::npos) {
    // `-e NAME` hands the caller's own variable on; ours if the text set it.
    if (!draft.variables.contains(name)) draft.ignored(name);
  } else {
    draft.variables[name] = assignment.substr(equals + 1);
  }
}

Json gib_of(const Draft& draft, std::string_view flag, const std::string& text) {
  const std::optional<double> bytes = container_bytes(text);
  if (!bytes) {
    throw ConfigError(
        Complaint{.origin = draft.shown_as,
                  .problem = fmt::format("{}: value '{}': a size, as 16g or 512m", flag, text)});
  }
  return gib(*bytes);
}

}  // namespace

KnownImage known_image(std::string_view image) {
  const auto names = [image](const LaunchImage& known) {
    const std::size_t at = image.find(known.repository);
    if (at == std::string_view::npos || (at > 0 && image[at - 1] != '/')) return false;
    const std::size_t end = at + known.repository.size();
    return end == image.size() || image[end] == ':' || image[end] == '@' || image[end] == '/';
  };
  for (const Engine* engine : launched_engines()) {
    const auto images = engine->launch->images;
    const auto found = std::ranges::find_if(images, names);
    if (found != images.end()) return {.engine = engine, .image = &*found};
  }
  return {};
}

std::string_view tag_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t colon = image.rfind(':');
  // registry:5000/name has a port, no tag.
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos)
    return {};
  return image.substr(colon + 1);
}

ContainerRun read_run_options(Draft& draft, std::span<const std::string> words) {
  ContainerRun run;
  ContainerLimits limits;
  std::size_t at = 0;
  while (at < words.size() && looks_like_flag(words[at])) {
    const Option option = option_at(draft, words.subspan(at));
    at += option.words;
    if (option.name == "-e" || option.name == "--env") {
      set_variable(draft, option.value);
    } else if (option.name == "--shm-size") {
      limits.shm_size = option.value;
    } else if (option.name == "--memory" || option.name == "-m") {
      limits.memory = option.value;
    } else if (option.name == "--ipc") {
      limits.ipc = option.value;
    } else if (option.name == "--gpus") {
      draft.devices = device_count(option.value);
      draft.devices_by = "--gpus";
    } else if (option.name == "--entrypoint") {
      run.entrypoint = option.value;
    } else if (option.name == "--env-file") {
      draft.unknown("--env-file " + option.value + ": not read");
    } else if (listed(kWithValue, option.name) || listed(kSwitches, option.name)) {
      draft.ignored(option.name);
    } else {
      draft.unknown(option.name);
    }
  }
  if (at >= words.size()) {
    throw ConfigError(
        Complaint{.origin = draft.shown_as, .problem = "no image after the options of run"});
  }
  run.image_at = at;
  set_container(draft, limits);
  return run;
}

void set_container(Draft& draft, const ContainerLimits& limits) {
  const bool of_host = limits.ipc == "host";
  draft.set("/environment/name", of_host ? "docker-ipc-host" : "docker");
  if (of_host) {
    draft.note("ipc host: the container uses the host's shared memory, without a limit of its own");
  } else if (!limits.shm_size.empty()) {
    draft.set("/environment/shm_size_gib", gib_of(draft, "shm size", limits.shm_size));
  } else {
    // 64 MiB: Docker's DefaultShmSize (moby/daemon/config).
    draft.set("/environment/shm_size_gib", gib(64.0 * 1024 * 1024));
    draft.note(limits.unset_note);
  }
  if (!limits.memory.empty()) {
    draft.set("/environment/memory_limit_gib", gib_of(draft, "memory limit", limits.memory));
  }
}

void set_release(Draft& draft, std::string_view image) {
  const KnownImage known = known_image(image);
  if (known.image == nullptr || known.engine != draft.engine) return;
  const std::string release =
      known.image->tag_is_release ? version_of_tag(tag_of(image)) : std::string();
  if (release.empty()) {
    draft.note(fmt::format("the image {} does not say which release of {} it holds", image,
                           draft.engine->launch->title));
  } else {
    draft.set("/engine/version", release);
  }
}

}  // namespace headroom
