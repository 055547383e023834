// Several engines of one compose file: sim/intake/from.hpp.

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/intake/from.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::compose_services_test {
namespace {

ComposeServices services(const std::string& text) {
  std::istringstream stream(text);
  return engines_of_compose(stream, "compose.yaml");
}

std::string vllm(const std::string& name, const std::string& more = "") {
  return "  " + name + ":\n    image: vllm/vllm-openai:v0.19.0\n    command: --model a/b\n" + more;
}

std::vector<std::string> names_of(const ComposeServices& found) {
  std::vector<std::string> names;
  for (const ComposeService& service : found.services) names.push_back(service.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a service that takes GPUs for something unknown is named") {
  const ComposeServices found =
      services("services:\n" + vllm("a") +
               "  b:\n    image: my/server\n    gpus: all\n  c:\n    image: redis\n");
  CHECK(names_of(found) == Names{"a"});
  REQUIRE(found.notes.size() == 1);
  CHECK_THAT(found.notes.front(),
             Catch::StartsWith("b takes GPUs, too") && Catch::Contains("my/server"));
}

TEST_CASE("a service that cannot be read is left out where another one is asked about") {
  const std::string text = "services:\n" + vllm("good") +
                           "  bad:\n    image: vllm/vllm-openai:v0.19.0\n    command: --model\n";
  CHECK_THROWS_AS(services(text), ConfigError);
  const auto about = [&text](const std::string& wanted) {
    std::istringstream stream(text);
    return engines_of_compose(stream, "compose.yaml", {}, wanted);
  };
  const ComposeServices found = about("good");
  CHECK(names_of(found) == Names{"good"});
  REQUIRE(found.left_out.size() == 1);
  CHECK_THAT(found.left_out.front(), Catch::StartsWith("bad is left out"));
  CHECK_THROWS_AS(about("bad"), ConfigError);
}

TEST_CASE("services start after those that they depend on, else as the file lists them") {
  const ComposeServices plain = services("services:\n" + vllm("b") + vllm("a"));
  CHECK(names_of(plain) == Names{"b", "a"});
  REQUIRE(plain.notes.size() == 1);
  CHECK_THAT(plain.notes.front(), Catch::Contains("order of the file"));

  // Through a service that starts no engine.
  const ComposeServices through =
      services("services:\n" + vllm("b", "    depends_on: [proxy]\n") +
               "  proxy:\n    image: nginx\n    depends_on:\n      a: {condition: "
               "service_healthy}\n" +
               vllm("a"));
  CHECK(names_of(through) == Names{"a", "b"});
  CHECK(through.notes.empty());
}

TEST_CASE("a start that depends_on does not wait for is said") {
  const ComposeServices found =
      services("services:\n" + vllm("b", "    depends_on: [a]\n") + vllm("a"));
  CHECK(names_of(found) == Names{"a", "b"});
  REQUIRE(found.notes.size() == 1);
  CHECK_THAT(found.notes.front(), Catch::Contains("service_healthy"));
}

TEST_CASE("a circle is refused, and a service of another file says nothing") {
  CHECK_THROWS_AS(services("services:\n" + vllm("a", "    depends_on: [b]\n") +
                           vllm("b", "    depends_on: [a]\n")),
                  ConfigError);
  CHECK(names_of(services("services:\n" + vllm("a", "    depends_on: [c]\n"))) == Names{"a"});
}

TEST_CASE("the devices of a service are the ids that its engine sees") {
  const auto devices = [](const std::string& more) {
    return services("services:\n" + vllm("a", more)).services.front().devices;
  };
  CHECK(devices("") == Names{});
  CHECK(devices("    gpus: all\n") == Names{});
  const std::string reserved =
      "    deploy: {resources: {reservations: {devices: [{driver: nvidia, ";
  CHECK(devices(reserved + "count: 2}]}}}\n") == Names{"0", "1"});
  CHECK(devices(reserved + "device_ids: [\"2\", \"3\"]}]}}}\n") == Names{"2", "3"});
  // CUDA counts those that the container sees.
  CHECK(devices(reserved + "device_ids: [\"2\", \"3\"]}]}}}\n" +
                "    environment: [CUDA_VISIBLE_DEVICES=1]\n") == Names{"3"});
  CHECK(devices("    environment: {NVIDIA_VISIBLE_DEVICES: \"1\"}\n") == Names{"1"});
}

TEST_CASE("replicas of a service start one after the other on its device") {
  const ComposeServices found =
      services("services:\n" + vllm("a", "    deploy: {replicas: 2}\n") + vllm("b"));
  CHECK(names_of(found) == Names{"a-1", "a-2", "b"});
  CHECK(found.services[1].service == "a");
  REQUIRE(found.notes.size() == 2);
  CHECK_THAT(found.notes.front(), Catch::Contains("a-1 and a-2 are replicas"));
  CHECK_THROWS_WITH(services("services:\n" + vllm("a", "    scale: 1000\n")),
                    Catch::Contains("services/a") && Catch::Contains("1000"));
}

}  // namespace headroom::compose_services_test
