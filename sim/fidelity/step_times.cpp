#include "sim/fidelity/step_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "hardware/llm/hf_config.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
// Products of rows, tokens and tokens stay inside 64 bits.
constexpr std::int64_t kMostRows = 1 << 16;
constexpr std::int64_t kMostTokens = 1 << 20;
constexpr double kLongestStepUs = 1e9;

// One object of the file.
class Section {
 public:
  Section(const JsonDocument& document, const Json& object, std::string pointer)
      : document_(document), object_(object), pointer_(std::move(pointer)) {
    if (!object_.is_object()) throw value_error(document_, pointer_, object_, "an object");
  }

  [[nodiscard]] const Json& at(const std::string& key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      throw key_error(document_, place(key), "missing", ErrorKind::missing);
    }
    return *found;
  }
  [[nodiscard]] Section section(const std::string& key) const {
    return {document_, at(key), place(key)};
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    const Json& value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      throw error(key, "text");
    }
    return value.get<std::string>();
  }
  [[nodiscard]] bool flag(const std::string& key) const {
    if (!at(key).is_boolean()) throw error(key, "true or false");
    return at(key).get<bool>();
  }
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t low,
                                     std::int64_t high) const {
    const Json& value = at(key);
    const bool small = value.is_number_integer() &&
                       (!value.is_number_unsigned() ||
                        value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
    if (!small || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
      throw error(key, fmt::format("an integer from {} to {}", low, high));
    }
    return value.get<std::int64_t>();
  }
  // Above `low`, or equal to it when that is above 0.
  [[nodiscard]] double microseconds(const std::string& key, double low) const {
    const Json& value = at(key);
    const double number = value.is_number() ? value.get<double>() : 0;
    if (!(number > 0) || number < low || number > kLongestStepUs) {
      throw error(key, low > 0 ? fmt::format("a number from {} to {}", low, kLongestStepUs)
                               : fmt::format("a number above 0, at most {}", kLongestStepUs));
    }
    return number;
  }
  [[nodiscard]] const Json& list(const std::string& key) const {
    const Json& value = at(key);
    if (!value.is_array() || value.empty()) throw error(key, "a list that is not empty");
    return value;
  }

  void allow_only(std::span<const std::string> keys) const {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      throw key_error(document_, place(key), "unknown key", ErrorKind::unknown,
                      nearest_name(key, keys));
    }
  }
  [[nodiscard]] ConfigError error(const std::string& key, std::string_view allowed,
                                  std::string_view nearest = {},
                                  ErrorKind kind = ErrorKind::value) const {
    return value_error(document_, place(key), at(key), allowed, nearest, kind);
  }
  [[nodiscard]] std::string place(const std::string& key) const {
    return fmt::format("{}/{}", pointer_, pointer_token(key));
  }

 private:
  const JsonDocument& document_;
  const Json& object_;
  std::string pointer_;
};

const std::vector<std::string> kRootKeys{
    "schema",   "schema_version", "made_up", "date_utc", "settings",  "versions",   "device",  //
    "models",   "steps",          "copies",  "gemm",     "attention", "all_reduce", "allocator",
    "failures", "left_out"};
const std::vector<std::string> kModelKeys{"name", "config"};
const std::vector<std::string> kStepKeys{"model",      "decode_rows",  "decode_context_tokens",
                                         "chunk_rows", "chunk_tokens", "chunk_prior_tokens",
                                         "median_us",  "least_us",     "most_us",
                                         "repeats"};

std::vector<std::string> read_models(const JsonDocument& document, const Section& root,
                                     StepTimes& times) {
  std::vector<std::string> names;
  const Json& models = root.list("models");
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Section model(document, models[i], fmt::format("/models/{}", i));
    model.allow_only(kModelKeys);
    const std::string name = model.text("name");
    if (std::ranges::find(names, name) != names.end()) throw model.error("name", "one model each");
    const std::string config = model.at("config").dump();
    ModelSpec spec =
        read_hf_config({config, fmt::format("{}: {}", document.name, model.place("config"))});
    spec.id = name;
    if (is_quantised(main_dtype(spec))) {
      throw model.error("config", "weights of 16 or 32 bits: the probe measures plain modules");
    }
    names.push_back(name);
    times.models.push_back(std::move(spec));
  }
  return names;
}

StepShape read_shape(const Section& step, std::int64_t& longest) {
  StepShape shape;
  shape.decode_rows = step.integer("decode_rows", 0, kMostRows);
  shape.chunk_rows = step.integer("chunk_rows", 0, kMostRows);
  if (shape.decode_rows + shape.chunk_rows == 0) {
    throw step.error("decode_rows", "a step with decoding rows, prompt chunks, or both");
  }
  const std::int64_t decodes = shape.decode_rows > 0 ? 1 : 0;
  const std::int64_t chunks = shape.chunk_rows > 0 ? 1 : 0;
  const auto context = step.integer("decode_context_tokens", decodes, decodes * kMostTokens);
  const auto tokens = step.integer("chunk_tokens", chunks, chunks * kMostTokens);
  const auto prior = step.integer("chunk_prior_tokens", 0, chunks * kMostTokens);
  shape.decode_context = shape.decode_rows * context;
  shape.chunk_tokens = shape.chunk_rows * tokens;
  shape.chunk_context = shape.chunk_rows * (prior + tokens);
  shape.chunk_pairs_twice = shape.chunk_rows * tokens * (2 * prior + tokens);
  shape.sampled_rows = shape.decode_rows + shape.chunk_rows;
  longest = std::max(context, prior + tokens);
  return shape;
}

void read_steps(const JsonDocument& document, const Section& root,
                const std::vector<std::string>& names, StepTimes& times) {
  const Json& steps = root.list("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Section step(document, steps[i], fmt::format("/steps/{}", i));
    step.allow_only(kStepKeys);
    const std::string model = step.text("model");
    const auto found = std::ranges::find(names, model);
    if (found == names.end()) {
      throw step.error("model", fmt::format("a name from /models: {}", comma_list(names)),
                       nearest_name(model, names), ErrorKind::unknown);
    }
    StepSample sample;
    sample.model = static_cast<std::size_t>(found - names.begin());
    sample.shape = read_shape(step, sample.longest_tokens);
    sample.least_us = step.microseconds("least_us", 0);
    sample.median_us = step.microseconds("median_us", sample.least_us);
    sample.most_us = step.microseconds("most_us", sample.median_us);
    static_cast<void>(step.integer("repeats", 1, 1'000'000));
    times.samples.push_back(sample);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(times.samples, i, &StepSample::model) > 0) continue;
    const Section model(document, root.at("models")[i], fmt::format("/models/{}", i));
    throw model.error("name", "a model with steps in /steps");
  }
}

}  // namespace

StepTimes read_step_times(const JsonDocument& document) {
  const Section root(document, document.root, "");
  if (root.text("schema") != "headroom-probe") {
    throw root.error("schema", "headroom-probe, as hardware/probe/probe.py writes");
  }
  if (root.integer("schema_version", 1, kMostTokens) != kSchemaVersion) {
    throw root.error("schema_version", fmt::format("{}, of this probe.py", kSchemaVersion));
  }
  root.allow_only(kRootKeys);
  StepTimes times;
  times.file = document.name;
  times.made_up = root.flag("made_up");
  times.date = root.text("date_utc");
  times.torch_version = root.section("versions").text("torch");
  const Section device = root.section("device");
  if (device.text("type") != "cuda") {
    throw device.error("type", "cuda: times on a CPU do not measure a device");
  }
  times.device = device.text("name");
  times.device_memory_bytes = device.integer("memory_total_bytes", 1, std::int64_t{1} << 50);
  const std::vector<std::string> names = read_models(document, root, times);
  read_steps(document, root, names, times);
  return times;
}

}  // namespace headroom
