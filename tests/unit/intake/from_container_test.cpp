// docker run and compose files: sim/intake/from.hpp.

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "sim/intake/container.hpp"
#include "sim/intake/from.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::from_container_test {
using Catch::Contains;
using Names = std::vector<std::string>;

namespace {

using Sorted = nlohmann::json;  // compares objects whatever the order of their keys

Sorted sorted(const Json& json) { return Sorted::parse(json.dump()); }

FromResult from(std::string_view command) { return scenario_from_command(command, "command"); }

FromResult compose(const std::string& text, const std::string& service = "") {
  std::istringstream stream(text);
  return scenario_from_compose(stream, "compose.yaml", service);
}

bool any_contains(const Names& list, std::string_view part) {
  return std::ranges::any_of(
      list, [part](const std::string& text) { return text.find(part) != std::string::npos; });
}

constexpr std::string_view kStack = R"(# a stack
version: "3.8"
services:
  proxy:
    image: nginx:latest
    ports: ["80:80"]
  llm:
    image: vllm/vllm-openai:${TAG:-v0.19.1}
    environment:
      - HF_TOKEN=${HF_TOKEN}
      - CUDA_VISIBLE_DEVICES=0,1
    command: >
      --model meta-llama/Llama-3.1-8B-Instruct
      --tensor-parallel-size 2
      --max-model-len 8192
    shm_size: "16gb"
    brand_new_key: 1
    deploy:
      resources:
        limits: {memory: 96G}
        reservations:
          devices:
            - driver: nvidia
              count: 2
              capabilities: [gpu]
volumes:
  models:
)";

}  // namespace

TEST_CASE("docker run: image, release, environment and flags behind the image") {
  const FromResult result = from(
      "sudo docker run --runtime nvidia --gpus all -v ~/.cache:/cache -e HF_TOKEN=secret "
      "--env \"VLLM_USE_V1=1\" -p 8000:8000 --shm-size=60g -m 64g -it --rm "
      "vllm/vllm-openai:v0.19.0 --model Qwen/Qwen3-32B --tensor-parallel-size 2");
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "Qwen/Qwen3-32B",
    "engine": {"name": "vllm", "version": "0.19.0", "tensor_parallel_size": 2},
    "environment": {"name": "docker", "shm_size_gib": 60, "memory_limit_gib": 64}})"));
  CHECK(result.unknown_flags.empty());
  CHECK(result.ignored_flags == Names{"--runtime", "-v", "-p", "-it", "--rm", "HF_TOKEN"});
}

TEST_CASE("docker run: shared memory is the host's with --ipc=host, else 64 MiB by default") {
  const FromResult host = from("docker run --ipc=host vllm/vllm-openai:latest --model m");
  CHECK(sorted(host.scenario.at("environment")) == Sorted::parse(R"({"name": "docker-ipc-host"})"));
  CHECK_FALSE(host.scenario.at("engine").contains("version"));
  CHECK(any_contains(host.notes, "does not say which release"));
  const FromResult plain = from("docker run vllm/vllm-openai:v0.19.0 --model m");
  CHECK(plain.scenario.at("environment").at("shm_size_gib") == 0.0625);  // 64 MiB / 1 GiB
}

TEST_CASE("docker run: a shell in the container, with variables from outside") {
  const FromResult result = from(
      "docker run -e MODEL=openai/gpt-oss-20b --gpus '\"device=0,1\"' --ipc host "
      "nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc4 "
      "bash -lc 'trtllm-serve \"$MODEL\" --tp_size 4 --port 8355'");
  CHECK(result.scenario.at("model") == "openai/gpt-oss-20b");
  CHECK(sorted(result.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "trtllm", "version": "1.2.0", "tensor_parallel_size": 4})"));
  CHECK(any_contains(result.notes, "--gpus gives 2 device(s), the flags use 4"));
}

TEST_CASE("docker run: each engine's image and entry point") {
  const auto engine_of = [](const std::string& behind) {
    return from("docker run --ipc=host " + behind).scenario.at("engine");
  };
  CHECK(sorted(engine_of("lmsysorg/sglang:v0.5.4-cu129 python3 -m sglang.launch_server --tp 2")) ==
        Sorted::parse(R"({"name": "sglang", "version": "0.5.4", "tensor_parallel_size": 2})"));
  CHECK(sorted(engine_of("ghcr.io/ggml-org/llama.cpp:server-cuda -m a.gguf -c 4096")) ==
        Sorted::parse(R"({"name": "llamacpp", "ctx_size": 4096})"));
  CHECK(sorted(engine_of("--entrypoint vllm vllm/vllm-openai:v0.20.1 serve m -tp 2")) ==
        Sorted::parse(R"({"name": "vllm", "version": "0.20.1", "tensor_parallel_size": 2})"));
  CHECK(sorted(engine_of("-e OLLAMA_NUM_PARALLEL=2 ollama/ollama:0.12.3")) ==
        Sorted::parse(R"({"name": "ollama", "version": "0.12.3", "num_parallel": 2})"));
}

TEST_CASE("docker run of an unknown image is refused unless the command is known") {
  CHECK_THROWS_WITH(
      from("docker run ubuntu:24.04 ls"),
      Contains("neither the image ubuntu:24.04 nor its command starts a known engine"));
  CHECK_THROWS_WITH(from("docker run --rm"), Contains("no image after the options"));
  CHECK(from("docker run me/mine:1.0 vllm serve m").engine == "vllm");
}

TEST_CASE("names of images: registry, port and digest") {
  CHECK(known_image("docker.io/vllm/vllm-openai:v0.19.0").engine->name == "vllm");
  CHECK(known_image("notvllm/vllm-openai").engine == nullptr);
  CHECK(tag_of("registry:5000/vllm/vllm-openai").empty());
  CHECK(tag_of("vllm/vllm-openai:v1@sha256:ab") == "v1");
}

TEST_CASE("compose: the only service that runs an engine") {
  const FromResult result = compose(std::string(kStack));
  CHECK(sorted(result.scenario) == Sorted::parse(R"({
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "engine": {"name": "vllm", "version": "0.19.1", "tensor_parallel_size": 2,
               "max_model_len": 8192},
    "environment": {"name": "docker", "shm_size_gib": 16, "memory_limit_gib": 96}})"));
  CHECK(result.unknown_flags == Names{"brand_new_key"});
  CHECK(result.ignored_flags == Names{"CUDA_VISIBLE_DEVICES", "HF_TOKEN"});
}

TEST_CASE("compose: command and entrypoint as lists, devices by their ids") {
  const FromResult result = compose(
      "services:\n"
      "  a:\n"
      "    image: ghcr.io/huggingface/text-generation-inference:3.3.5\n"
      "    ipc: host\n"
      "    environment: {MAX_TOTAL_TOKENS: 8192, HF_TOKEN: x}\n"
      "    command: [\"--model-id\", \"m\",\n"
      "              '--max-input-tokens', 4000]\n"
      "    deploy:\n"
      "      resources:\n"
      "        reservations:\n"
      "          devices:\n"
      "          - device_ids: ['0', '3']\n");
  CHECK(sorted(result.scenario.at("engine")) ==
        Sorted::parse(R"({"name": "tgi", "version": "3.3.5", "max_total_tokens": 8192,
                        "max_input_tokens": 4000, "tensor_parallel_size": 2})"));
}

TEST_CASE("compose: the service must be told when several run an engine, and must exist") {
  const std::string two =
      "services:\n  a:\n    image: vllm/vllm-openai\n  b:\n    image: ollama/ollama\n";
  CHECK_THROWS_WITH(compose(two),
                    Contains("compose.yaml: several services start an engine: choose one of a, b"));
  CHECK(compose(two, "b").engine == "ollama");
  CHECK_THROWS_WITH(compose(std::string(kStack), "lm"),
                    "compose.yaml: no service 'lm': one of proxy, llm (nearest: llm)");
  CHECK_THROWS_WITH(compose("services:\n  a:\n    image: nginx\n"),
                    Contains("no service starts a known engine (a)"));
  CHECK_THROWS_WITH(compose("a: b\n"), Contains("no \"services\""));
}

TEST_CASE("compose: a size that is none is refused with service and key") {
  CHECK_THROWS_WITH(compose("services:\n  a:\n    image: vllm/vllm-openai\n    shm_size: big\n"),
                    "compose.yaml: services/a: shm size: value 'big': a size, as 16g or 512m");
}

}  // namespace headroom::from_container_test
