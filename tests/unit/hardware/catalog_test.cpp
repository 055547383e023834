#include "hardware/catalog.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hardware/model_rows.hpp"
#include "sim/kernel/embedded_file.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/support/about.hpp"

namespace headroom {
[[nodiscard]] std::span<const EmbeddedFile> catalog_files();
}  // namespace headroom

namespace headroom::catalog_test {
namespace {

constexpr const char* kTinyModel = R"({"models": [{"id": "tiny", "config": {
  "architectures": ["LlamaForCausalLM"], "dtype": "float16", "num_hidden_layers": 2,
  "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
  "intermediate_size": 16, "vocab_size": 64, "max_position_embeddings": 128},
  "source": "test"}]})";

// kTinyModel with `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kTinyModel;
  return text.replace(text.find(from), from.size(), to);
}

void read_models(const std::string& text) {
  Catalog catalog;
  catalog.overlay_text("models.json", text, "my.json");
  static_cast<void>(catalog.model("tiny"));
}

}  // namespace

TEST_CASE("device totals are those that runtimes logged") {
  const Catalog catalog = Catalog::embedded();
  const auto gib = [&](const char* id) {
    return static_cast<double>(catalog.device(id).memory_reported_bytes) / (1024.0 * 1024 * 1024);
  };
  CHECK(gib("mi355x") == Approx(287.98).margin(0.005));
  CHECK(gib("rtx3090") == Approx(23.58).margin(0.005));
  for (const std::string& id : catalog.device_ids()) {
    INFO(id);
    CHECK(catalog.device(id).memory_reported_bytes <= catalog.device(id).memory_nominal_bytes);
  }
}

TEST_CASE("the embedded catalog has its rows") {
  const Catalog catalog = Catalog::embedded();
  CHECK(catalog.model_ids().size() == 550);
  CHECK(catalog.device_ids().size() == 98);
  CHECK(catalog.environment_ids().size() == 13);
  CHECK(catalog.calibration_ids().size() == 44);
}

TEST_CASE("an unknown id names the nearest one") {
  const Catalog catalog = Catalog::embedded();
  const auto device = [&](const char* id) {
    return test::about([&] { return catalog.device(id); });
  };
  const test::About model = test::about([&] { return catalog.model("lama-3.1-8b"); });
  CHECK(model.kind == ErrorKind::unknown);
  CHECK(model.complaint.nearest == "llama-3.1-8b");
  CHECK(device("H100-SMX").complaint.nearest == "h100-sxm");
  CHECK(device("abacus").complaint.nearest.empty());
  // Another number is another device, however near it looks.
  CHECK(device("M7 Pro").complaint.nearest.empty());
  CHECK(device("RTX 3070").complaint.nearest.empty());
  CHECK_THAT(device("M4 Max 96GB").complaint.context, Catch::Contains("m4-max has 128 GB"));
  CHECK_THAT(device("abacus").complaint.context, Catch::Contains("headroom list devices"));
}

TEST_CASE("an unknown fine-tune names its base model") {
  const Catalog catalog = Catalog::embedded();
  const auto nearest = [&](const char* name) {
    return test::about([&] { static_cast<void>(catalog.model(name)); }).complaint.nearest;
  };
  CHECK(nearest("someone/My-Llama-3.1-8B-Legal-v2") == "llama-3.1-8b");
  CHECK(nearest("someone/wizard-2.9-llama3-8b") == "llama-3-8b");
  CHECK(nearest("someone/DeepSeek-R1-Style-Qwen3-8B-Law") == "qwen3-8b");  // the later name
  CHECK(nearest("someone/Qwen2.5-14B-Coder-Mix") == "qwen2.5-14b");
  CHECK(nearest("someone/Qwen3-320B-Mix").empty());  // not qwen3-32b
  CHECK(nearest("someone/Mystery-9B").empty());
}

TEST_CASE("a Mac is named by its chip and its memory") {
  const Catalog catalog = Catalog::embedded();
  for (const auto& [name, id] :
       {std::pair{"m3-max-36gb", "m3-max-36"}, std::pair{"MacBook Pro M3 Max 96GB", "m3-max-96"},
        std::pair{"M4 Max 36GB", "m4-max-36"}, std::pair{"Apple M4 Max 48GB", "m4-max-48"},
        std::pair{"m4-max-64gb", "m4-max-64"}, std::pair{"m4-max-128gb", "m4-max"},
        std::pair{"m4-max", "m4-max"}}) {
    CHECK(catalog.device(name).id == id);
  }
  // Which one of them the chip alone does not say; half the memory bus is another speed.
  CHECK_THROWS_WITH(catalog.device("Apple M4 Max"), Catch::Contains("name one"));
  for (const char* name : {"MacBook 36 GB", "MacBook Pro 36GB"}) {
    CHECK_THROWS_WITH(catalog.device(name),
                      Catch::Contains("each of m3-max-36, m3-pro-36, m4-max-36"));
  }
  CHECK_THROWS_WITH(catalog.device("Mac mini"), Catch::Contains("m4-pro-48"));
  CHECK(catalog.device("MacBook Pro 128GB").id == "m4-max");
  CHECK(catalog.device("m3-max-36").bandwidth_bytes_per_s <
        catalog.device("m3-max-48").bandwidth_bytes_per_s);
  CHECK(catalog.device("m4-max-36").bandwidth_bytes_per_s <
        catalog.device("m4-max-48").bandwidth_bytes_per_s);
}

TEST_CASE("a model is found by its Hugging Face name") {
  CHECK(Catalog::embedded().model("Qwen/Qwen3-8B").id == "qwen3-8b");
}

TEST_CASE("a model that is built in is the same by its id and by its other names") {
  for (const EmbeddedFile& file : catalog_files()) {
    if (file.name != "models.json") continue;
    ModelRows rows;
    rows.set_built_in(file.content, "(built in) models.json");
    for (const ModelRow& row : parse_models(file.content, "(built in) models.json")) {
      CAPTURE(row.id);
      std::vector<std::string> names = row.aliases;
      names.push_back(row.id);
      if (!row.hf_repo.empty()) names.push_back(row.hf_repo);
      for (const std::string& name : names) {
        const std::optional<ModelRow> found = rows.find(name);
        REQUIRE(found);
        CHECK(found->config == row.config);
        CHECK(found->quantization == row.quantization);
        CHECK(found->shown_as == row.shown_as);
      }
    }
  }
}

TEST_CASE("an overlay adds rows and replaces rows of the same id") {
  Catalog catalog = Catalog::embedded();
  catalog.overlay_text("models.json", kTinyModel, "my.json");
  CHECK(catalog.model("tiny").hidden == 8);
  catalog.overlay_text("models.json", changed("\"hidden_size\": 8", "\"hidden_size\": 12"),
                       "my.json");
  CHECK(catalog.model("tiny").hidden == 12);
  CHECK(catalog.model("llama-3.1-8b").layers() == 32);
}

TEST_CASE("bad catalog content is refused with file and JSON pointer") {
  const auto error = [](const std::string& from, const std::string& to) {
    return test::about([&] { read_models(changed(from, to)); });
  };
  CHECK(error("\"source\"", "\"sorce\"") == test::missing_at("/models/0/source"));
  const test::About note = error("\"source\": \"test\"", "\"source\": \"test\", \"note\": \"x\"");
  CHECK(note == test::unknown_at("/models/0/note"));
  CHECK(note.complaint.nearest == "notes");
  const test::About size = error("\"hidden_size\": 8", "\"hidden_size\": -8");
  CHECK(size == test::value_at("/hidden_size"));
  CHECK(size.complaint.origin == "my.json: /models/0/config");
  CHECK(error("\"float16\"", "\"float61\"") == test::value_at("/dtype"));
  CHECK(error("[{", "[1, {") == test::value_at("/models/0"));
  CHECK(error("\"models\"", "\"model\"") == test::value_at("/models"));
  const test::About truncated = error("]}", "]");
  CHECK(truncated.kind == ErrorKind::unreadable);
  CHECK(truncated.complaint.origin == "my.json");
  CHECK(test::about([] { read_models(kTinyModel); }) == test::no_error());
}

TEST_CASE("a device faster than any wafer is refused") {
  const auto own_device = [](const std::string& gb_per_s) {
    Catalog catalog;
    catalog.overlay_text("devices.json",
                         R"({"devices": [{"id": "mine", "name": "Mine", "vendor": "v",
        "architecture": "a", "memory_model": "discrete", "memory_nominal_bytes": 80000000000,
        "memory_reported_bytes": 80000000000, "bandwidth_gb_per_s": )" +
                             gb_per_s + R"(, "tflops": {"fp16": 989}, "source": "test"}]})",
                         "my.json");
    return catalog.device("mine").bandwidth_bytes_per_s;
  };
  CHECK(own_device("3350") == 3350e9);
  CHECK(test::about([&] { return own_device("3350000"); }) ==
        test::value_at("/devices/0/bandwidth_gb_per_s"));
}

TEST_CASE("a device names another one whose kernel times it takes") {
  const auto own_device = [](const std::string& id, const std::string& taken) {
    Catalog catalog = Catalog::embedded();
    catalog.overlay_text("devices.json", R"({"devices": [{"id": ")" + id + R"(", "name": "Mine",
        "vendor": "v", "architecture": "a", "memory_model": "discrete",
        "memory_nominal_bytes": 80000000000, "memory_reported_bytes": 80000000000,
        "bandwidth_gb_per_s": 3000, "tflops": {"fp16": 989}, "source": "test", "kernels_of":
        {"device": ")" + taken + R"(", "bandwidth": 0.9, "flops_16_bit": 0.8, "flops_8_bit": 0.7,
        "link": 0.6, "latency": 1.5, "decode_attention": 0.5, "tuned": [{"kernels": "products",
        "format": "fp8", "tokens": [1, 16], "times": [0.7, 1]}], "source": "test"}}]})",
                         "my.json");
    return *catalog.device(id).kernels_of;
  };
  const DeviceSpec::KernelsOf taken = own_device("mine", "h200-sxm");
  CHECK(taken.device == "h200-sxm");
  CHECK(taken.bandwidth == 0.9);
  CHECK(taken.flops_16_bit == 0.8);
  CHECK(taken.flops_8_bit == 0.7);
  CHECK(taken.link == 0.6);
  CHECK(taken.latency == 1.5);
  CHECK(taken.decode_attention == 0.5);
  CHECK(Catalog::embedded().device("gb10").kernels_of->decode_attention ==
        1);  // where it is absent
  CHECK(taken.tuned.size() == 1);
  CHECK_THROWS_WITH(own_device("mine", "h200"),
                    Catch::Contains("my.json: device mine: kernels_of/device: value h200: expected "
                                    "a device with kernel times (a100-80, b200,"));
  CHECK_THROWS_WITH(
      own_device("b200", "h200-sxm"),
      Catch::Contains("device b200: kernels_of: the device has kernel times of its own"));
}

TEST_CASE("tuned kernels name a format, and a time for each of growing numbers of tokens") {
  const auto about = [](const std::string& tuned) {
    return test::about([&] {
      Catalog::embedded().overlay_text("devices.json",
                                       R"({"devices": [{"id": "mine", "name": "Mine", "vendor": "v",
          "architecture": "a", "memory_model": "discrete", "memory_nominal_bytes": 80000000000,
          "memory_reported_bytes": 80000000000, "bandwidth_gb_per_s": 3000,
          "tflops": {"fp16": 989}, "source": "test", "kernels_of": {"device": "h200-sxm",
          "bandwidth": 1, "flops_16_bit": 1, "flops_8_bit": 1, "link": 1, "latency": 1,
          "tuned": [)" + tuned + R"(], "source": "test"}}]})",
                                       "my.json");
    });
  };
  const std::string at = "/devices/0/kernels_of/tuned/0/";
  CHECK(about(R"({"kernels": "all", "format": "fp8", "tokens": [1], "times": [1]})").pointer ==
        at + "kernels");
  CHECK(about(R"({"kernels": "experts", "format": "fp7", "tokens": [1], "times": [1]})").pointer ==
        at + "format");
  CHECK(about(R"({"kernels": "experts", "format": "fp8", "tokens": [4, 1], "times": [1, 1]})")
            .pointer == at + "tokens");
  CHECK(
      about(R"({"kernels": "experts", "format": "fp8", "tokens": [1, 4], "times": [1]})").pointer ==
      at + "times");
  CHECK(about(R"({"kernels": "experts", "format": "fp8", "tokens": [1], "times": [0]})").pointer ==
        at + "times");
}

TEST_CASE("a device of the same chip takes the same kernel times") {
  const Catalog catalog = Catalog::embedded();
  const DeviceSpec::KernelsOf chip = catalog.device("gb10").kernels_of.value();
  const DeviceSpec::KernelsOf other = catalog.device("gb10-2025").kernels_of.value();
  CHECK(other.device == "rtxpro6000-server");
  CHECK(other.bandwidth == chip.bandwidth);
  CHECK(other.flops_16_bit == chip.flops_16_bit);
}

TEST_CASE("a directory without catalog files is refused") {
  Catalog catalog;
  CHECK_THROWS_AS(catalog.overlay(std::filesystem::path(HEADROOM_SOURCE_DIR) / "cmake"),
                  ConfigError);
}

TEST_CASE("device rows are plausible") {
  const Catalog catalog = Catalog::embedded();
  for (const std::string& id : catalog.device_ids()) {
    INFO(id);
    const DeviceSpec& device = catalog.device(id);
    CHECK(device.memory_reported_bytes <= device.memory_nominal_bytes);
    CHECK(device.memory_reported_bytes > device.memory_nominal_bytes / 2);
    // Between a phone (an Apple M1 has 68 GB/s) and ten times today's best.
    CHECK(device.bandwidth_bytes_per_s > 5e10);
    CHECK(device.bandwidth_bytes_per_s < 1e14);
    if (device.bf16_flops) CHECK(*device.bf16_flops == device.fp16_flops);
    if (device.fp8_flops) CHECK(*device.fp8_flops / device.fp16_flops == Approx(2.0).epsilon(0.08));
    if (device.fp4_flops) CHECK(*device.fp4_flops > 1.9 * device.fp8_flops.value());
    CHECK_FALSE(device.source.empty());
  }
}

TEST_CASE("bf16 begins with Ampere, fp8 with Ada") {
  const Catalog catalog = Catalog::embedded();
  for (const std::string& id : catalog.device_ids()) {
    const DeviceSpec& device = catalog.device(id);
    if (device.vendor != "nvidia") continue;
    INFO(id);
    CHECK(device.bf16_flops.has_value() == (device.sm >= 80));
    CHECK(device.fp8_flops.has_value() == (device.sm >= 89));
  }
}

TEST_CASE("devices are found by the names that people use") {
  const Catalog catalog = Catalog::embedded();
  const std::vector<std::pair<std::string, std::string>> names{
      {"H100-SXM", "h100-sxm"},
      {"RTX 4090", "rtx4090"},
      {"4090", "rtx4090"},
      {"NVIDIA GeForce RTX 3090", "rtx3090"},
      {"dgx-spark", "gb10"},
      {"DGX Spark", "gb10"},
      {"mac-studio-512gb", "m3-ultra"},
      {"A100-SXM4-40GB", "a100-40"},
      {"nvidia-l4", "l4"},
      {"a100_80gb_pcie", "a100-80-pcie"},
      {"Mac Studio M3 Ultra", "m3-ultra"},
      {"M3 Ultra Mac Studio", "m3-ultra"},
      {"MacBook Pro M3 Max 64GB", "m3-max-64"},
      {"Apple M4 Pro 48 GB", "m4-pro-48"},
      {"mac mini M4 16GB", "m4-16"},
      {"L40", "l40"},
      {"A10", "a10"},
      {"RTX 5070", "rtx5070"},
      {"NVIDIA GeForce RTX 3060", "rtx3060-12"},
      {"RTX 3060 12GB", "rtx3060-12"},
      {"RTX 4060 Ti 8GB", "rtx4060ti-8"},
      {"RTX 4060 Ti 16GB", "rtx4060ti-16"},
      {"RTX 4090 24GB", "rtx4090"},
      {"AMD Radeon RX 7900 XTX", "rx7900xtx"},
      {"AMD Instinct MI300X", "mi300x"}};
  for (const auto& [name, id] : names) {
    INFO(name);
    CHECK(catalog.device(name).id == id);
  }
}

TEST_CASE("a count of devices stands in front of their name, with or without spaces") {
  for (const char* text : {"2x4090", "2 x 4090", "2X 4090", "2\xc3\x97 4090"}) {
    INFO(text);
    const std::optional<CountedDevice> counted = counted_device(text);
    REQUIRE(counted.has_value());
    CHECK(counted->count == 2);
    CHECK(counted->name == "4090");
  }
  for (const char* text : {"4090", "2 4090", "x4090", "2x", "1000x4090", ""}) {
    INFO(text);
    CHECK_FALSE(counted_device(text).has_value());
  }
}

TEST_CASE("an id is found in any case, also where the name may be of several") {
  const Catalog catalog = Catalog::embedded();
  CHECK(catalog.device("M4-Max").id == "m4-max");
  CHECK(catalog.device("H100-SXM").id == "h100-sxm");
}

TEST_CASE("of several devices of one name the usual one is meant, where there is one") {
  using Ids = std::vector<std::string>;
  const Catalog catalog = Catalog::embedded();
  CHECK(catalog.device("H100").id == "h100-sxm");
  CHECK(catalog.device("NVIDIA H100 80GB").id == "h100-sxm");
  CHECK(catalog.device("A100").id == "a100-80");
  CHECK(catalog.device("A100 40GB").id == "a100-40");
  CHECK(catalog.devices_also_called("H100") == Ids{"h100-nvl", "h100-pcie"});
  CHECK(catalog.devices_also_called("A100") == Ids{"a100-40", "a100-80-pcie"});
  CHECK(catalog.devices_also_called("h100-sxm").empty());
  CHECK(catalog.devices_also_called("4090").empty());
}

TEST_CASE("a name of several devices or models is refused with all of them") {
  const Catalog catalog = Catalog::embedded();
  const auto problem = [](const auto& find) {
    try {
      static_cast<void>(find());
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(problem([&] { return catalog.device("M4 Pro"); }) ==
        "device 'M4 Pro' may be each of m4-pro-24, m4-pro-48, m4-pro-64: name one");
  CHECK(problem([&] { return catalog.device("M1"); }) ==
        "device 'M1' may be each of m1-16, m1-8: name one");
  CHECK(problem([&] { return catalog.device("RTX 4060 Ti"); }) ==
        "device 'RTX 4060 Ti' may be each of rtx4060ti-16, rtx4060ti-8: name one");
  CHECK(problem([&] { return catalog.model("llama-4-m"); }).find("nearest: llama-4-maverick") !=
        std::string::npos);
  CHECK(problem([&] {
          return catalog.model("gemma-2");
        }).find("it may be each of gemma-2-27b, gemma-2-2b, gemma-2-9b") != std::string::npos);
}

TEST_CASE("the two editions of the RTX PRO 6000 are two devices") {
  const Catalog catalog = Catalog::embedded();
  CHECK(catalog.device("rtxpro6000-server").bandwidth_bytes_per_s == 1597e9);
  CHECK(catalog.device("rtxpro6000-ws").bandwidth_bytes_per_s == 1792e9);
}

TEST_CASE("Hopper and data-centre Blackwell are told from the rest") {
  const Catalog catalog = Catalog::embedded();
  for (const char* id : {"h100-sxm", "h20", "h200-sxm", "b200", "b300"}) {
    INFO(id);
    CHECK(catalog.device(id).hopper_or_later());
  }
  for (const char* id : {"a100-80", "rtx4090", "rtxpro6000-server", "gb10", "mi300x"}) {
    INFO(id);
    CHECK_FALSE(catalog.device(id).hopper_or_later());
  }
}

TEST_CASE("every calibration fits the device it names") {
  const Catalog catalog = Catalog::embedded();
  for (const auto& [id, row] : catalog.calibrations()) {
    INFO(id);
    if (!row.device.empty()) CHECK_NOTHROW(check_fits(row, catalog.device(row.device)));
    CHECK_FALSE(row.source.empty());
  }
}

}  // namespace headroom::catalog_test
