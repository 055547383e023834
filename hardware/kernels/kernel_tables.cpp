#include "hardware/kernels/kernel_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "hardware/kernels/kernel_words.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

struct ClassTraits {
  std::string_view name;
  IdealTime ideal;
  std::vector<double> weights;  // of the parts of a key, see KernelSurface
};

// The key of each class in a comment: what names one of its surfaces.
const ClassTraits& traits_of(KernelClass kind) {
  static const std::array<ClassTraits, 15> traits{{
      {"linear", ideal::linear, {-1}},  // format
      // heads, KV heads, head size, window, cache format, query format
      {"prefill_attention", ideal::prefill_attention, {1, 0.3, 3, 0.8, -1, -3}},
      // heads, KV heads, head size, window, cache format
      {"decode_attention", ideal::decode_attention, {0.5, 1.5, 3, 0.8, -3}},
      // format, kernel, load, hidden, intermediate, experts per token, experts
      {"experts", ideal::experts, {-100, -50, -20, 1, 1, 0.5, 0.5}},
      {"all_reduce", ideal::all_reduce, {-1}},  // captured
      {"nccl", ideal::nccl, {-1}},              // operation
      // format of products, cache, query; then sizes that no key of the file has
      {"latent_prefill", ideal::latent_prefill, {-5, -1, -3}},
      {"latent_decode", ideal::latent_decode, {-5, -3, -1}},
      {"latent_kernel_prefill", ideal::latent_kernel_prefill, {-1}},  // cache format
      {"latent_kernel_decode", ideal::latent_kernel_decode, {-1}},    // cache format
      {"latent_bmm", ideal::latent_bmm, {-1}},                        // format
      // hidden, format of products, cache, indexer
      {"sparse_prefill", ideal::sparse_prefill, {1, -5, -3, -10}},
      {"sparse_decode", ideal::sparse_decode, {1, -5, -3, -10}},
      // key heads, key size, value heads, value size
      {"recurrent_prefill", ideal::recurrent_prefill, {0.3, 1, 1, 1}},
      {"recurrent_decode", ideal::recurrent_decode, {0.3, 1, 1, 1}},
  }};
  return traits.at(static_cast<std::size_t>(kind));
}

constexpr std::string_view kAllEngines = "all";
constexpr std::string_view kClassLine = "\nclass ";

}  // namespace

std::string_view name_of(KernelClass kind) { return traits_of(kind).name; }

std::string_view name_of(KernelEngine engine) {
  switch (engine) {
    case KernelEngine::vllm: return "vllm";
    case KernelEngine::sglang: return "sglang";
    case KernelEngine::trtllm: return "trtllm";
  }
  return "";
}

KernelTables::KernelTables(const EmbeddedFile& file)
    : origin_("kernels/" + std::string(file.name)), content_(file.content) {
  std::size_t at = content_.find(kClassLine);
  if (at == std::string_view::npos) fail(content_, "no section of kernel times");
  read_facts(content_.substr(0, at + 1));
  while (at != std::string_view::npos) {
    const std::size_t next = content_.find(kClassLine, at + 1);
    const std::size_t end = next == std::string_view::npos ? content_.size() : next + 1;
    add_section(content_.substr(at + 1, end - at - 1));
    at = next;
  }
}

std::int64_t KernelTables::line_of(std::string_view part) const {
  return 1 + std::count(content_.data(), part.data(), '\n');
}

void KernelTables::fail(std::string_view at, const std::string& problem) const {
  throw DataError(origin_ + ":" + std::to_string(line_of(at)) + ": " + problem + "; read " +
                  std::to_string(sections_.size()) + " sections before");
}

void KernelTables::read_facts(std::string_view facts) {
  bool version = false;
  while (!facts.empty()) {
    const std::size_t end = facts.find('\n');
    std::string_view line = facts.substr(0, end);
    const std::string_view at = facts;
    facts = facts.substr(end + 1);  // ends with a line break
    if (line.starts_with('#')) continue;
    const std::string_view name = next_word(line);
    if (name == "headroom-kernels") {
      if (line != "1") fail(at, "headroom-kernels 1 is the only known version");
      version = true;
    } else if (name == "device") {
      device_ = line;
    } else if (name == "architecture") {
      architecture_ = line;
    } else {
      set_number(at, name, line);
    }
  }
  if (!version || device_.empty() || architecture_.empty() || sm_ == 0 || peaks_.bytes <= 0 ||
      peaks_.flops_16_bit <= 0 || peaks_.link_bytes <= 0) {
    fail(content_,
         "expected headroom-kernels, device, architecture, sm, gb_per_s, tflops_bf16, "
         "link_gb_per_s");
  }
  for (double* rate : {&peaks_.flops_fp8, &peaks_.flops_fp4, &peaks_.ops_int8}) {
    if (*rate <= 0) *rate = peaks_.flops_16_bit;
  }
}

void KernelTables::set_number(std::string_view at, std::string_view name, std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !(value > 0)) {
    fail(at, "expected a number above 0 behind " + std::string(name));
  }
  constexpr double kGigaPerMicrosecond = 1e3;
  constexpr double kTeraPerMicrosecond = 1e6;
  if (name == "sm") {
    sm_ = static_cast<std::int32_t>(value);
  } else if (name == "gb_per_s") {
    peaks_.bytes = value * kGigaPerMicrosecond;
  } else if (name == "link_gb_per_s") {
    peaks_.link_bytes = value * kGigaPerMicrosecond;
  } else if (name == "tflops_bf16") {
    peaks_.flops_16_bit = value * kTeraPerMicrosecond;
  } else if (name == "tflops_fp8") {
    peaks_.flops_fp8 = value * kTeraPerMicrosecond;
  } else if (name == "tflops_int8") {
    peaks_.ops_int8 = value * kTeraPerMicrosecond;
  } else if (name == "tflops_fp4") {
    peaks_.flops_fp4 = value * kTeraPerMicrosecond;
  } else if (name != "tflops_fp16" && name != "tflops_fp32") {
    fail(at, "unknown fact " + std::string(name));
  }
}

void KernelTables::add_section(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  next_word(line);  // class
  auto section = std::make_unique<Section>();
  section->kind = next_word(line);
  section->engine = next_word(line);
  section->releases = line;
  section->text = text;
  sections_.push_back(std::move(section));
}

bool KernelTables::has(KernelClass kind) const {
  return std::ranges::any_of(sections_, [name = traits_of(kind).name](const auto& section) {
    return section->kind == name;
  });
}

const KernelSurface* KernelTables::find(KernelClass kind, std::string_view engine) const {
  const ClassTraits& traits = traits_of(kind);
  for (const auto& section : sections_) {
    if (section->kind != traits.name || section->engine != engine) continue;
    if (section->text.find('\n') + 1 >= section->text.size()) {  // its first line alone
      throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                  .origin = origin_,
                                  .value = section->kind + " " + section->engine,
                                  .problem = "these kernel times are not loaded"});
    }
    std::call_once(section->read, [&] {
      section->surface = std::make_unique<const KernelSurface>(
          section->text, origin_, line_of(section->text), traits.ideal, peaks_, traits.weights);
    });
    return section->surface.get();
  }
  return nullptr;
}

const KernelSurface* KernelTables::surface(KernelClass kind, KernelEngine engine) const {
  return find(kind, name_of(engine));
}

const KernelSurface* KernelTables::surface(KernelClass kind) const {
  return find(kind, kAllEngines);
}

std::vector<std::string> KernelTables::sections() const {
  std::vector<std::string> list;
  for (const auto& section : sections_) {
    list.push_back(section->kind + ": " + section->engine + " " + section->releases);
  }
  return list;
}

}  // namespace headroom
