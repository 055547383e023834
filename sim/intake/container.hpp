#pragma once
// What a container's image and options say about the engine and its environment.

#include <span>
#include <string>
#include <string_view>

#include "sim/intake/draft.hpp"

namespace headroom {

struct KnownImage {
  const Engine* engine = nullptr;
  const LaunchImage* image = nullptr;
};

// Both null for an unknown image.
[[nodiscard]] KnownImage known_image(std::string_view image);
// "registry/image:v0.19.0@sha256:..." -> "v0.19.0", without a digest; empty when there is none.
[[nodiscard]] std::string_view tag_of(std::string_view image);

// The options of `docker run` and `podman run` in front of the image, into the draft (variables,
// devices, limits, shared memory). Returns how many words they take.
struct ContainerRun {
  std::size_t image_at = 0;  // index of the image in the words
  std::string entrypoint;
};
[[nodiscard]] ContainerRun read_run_options(Draft& draft, std::span<const std::string> words);

// /environment of the scenario. Empty texts: not given. `ipc` is docker's --ipc.
struct ContainerLimits {
  std::string shm_size;
  std::string memory;
  std::string ipc;
  // Said where nothing sets shared memory.
  std::string unset_note =
      "neither shm size nor ipc host is set: Docker gives 64 MiB of shared "
      "memory";
};
void set_container(Draft& draft, const ContainerLimits& limits);

// The release by the image's tag, when the image is the engine's own.
void set_release(Draft& draft, std::string_view image);

}  // namespace headroom
