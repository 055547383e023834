// Audio towers of Whisper's kind with their projectors. Parameters after the modules of
// Transformers (whisper, qwen2_audio, qwen2_5_omni, qwen3_omni_moe, voxtral); they are loaded in
// the model's dtype, whole on every rank.

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

struct Sizes {
  std::int64_t width = 0;
  std::int64_t ffn = 0;
  std::int64_t mels = 0;
  std::int64_t out = 0;  // of the language model
};

constexpr std::int64_t kSide = 3;  // of all convolutions

std::int64_t layer_params(const Sizes& s, bool key_bias) {
  const std::int64_t biases = (key_bias ? 4 : 3) * s.width + s.ffn + s.width;
  return 4 * s.width * s.width + 2 * s.width * s.ffn + biases + 4 * s.width;
}

// Two convolutions along time, then layers and a norm.
std::int64_t whisper_stem(const Sizes& s) {
  return kSide * (s.mels + s.width) * s.width + 2 * s.width + 2 * s.width;
}

// Three over time and mels, each halving both, then a matrix (Qwen3-Omni).
std::int64_t downsampling_stem(const Sizes& s, std::int64_t channels) {
  constexpr std::int64_t kHalved = 8;
  const std::int64_t first = kSide * kSide * channels + channels;
  const std::int64_t other = kSide * kSide * channels * channels + channels;
  return first + 2 * other + channels * (s.mels / kHalved) * s.width + 2 * s.width;
}

// Into the language model's width; how tells which fields the tower has.
std::int64_t projector(const HfFields& a, const Sizes& s, bool downsamples) {
  if (downsamples) return s.width * s.width + s.width + s.width * s.out + s.out;
  // Qwen2.5-Omni: also an embedding for begin and one for end.
  if (a.has("output_dim")) return s.width * s.out + s.out + 2 * s.out;
  if (a.text("model_type").starts_with("voxtral")) return s.ffn * s.out + s.out * s.out;
  return s.width * s.out + s.out;
}

}  // namespace

void read_audio(HfIntake& in) {
  const std::optional<HfFields> audio = in.root.object("audio_config");
  if (!audio) return;
  const HfFields& a = *audio;
  if (!a.has("num_mel_bins")) {
    in.note("the audio tower is not counted: its fields are not those of Whisper's kind");
    return;
  }
  const Sizes s{.width = a.integer({"d_model", "hidden_size"}),
                .ffn = a.integer({"encoder_ffn_dim", "intermediate_size"}),
                .mels = a.bounded("num_mel_bins", 128, 4096),
                .out = in.model.hidden};
  const std::int64_t layers = a.integer({"encoder_layers", "num_hidden_layers"});
  if (s.width > 65536 || s.ffn > kHfLargest || layers > 1000) {
    throw a.error("d_model", "a tower of at most 1000 layers and a width of 65536");
  }
  const std::int64_t channels = a.bounded("downsample_hidden_size", 0, 65536);
  const bool downsamples = channels > 0;
  // Sines of Qwen's Omni models are computed; Whisper's are stored.
  const bool stores_positions = !a.has("output_dim");
  std::int64_t params = layers * layer_params(s, downsamples) + projector(a, s, downsamples);
  params += downsamples ? downsampling_stem(s, channels) : whisper_stem(s);
  if (stores_positions) params += a.bounded("max_source_positions", 1500, 1000000) * s.width;
  in.model.extra_embedding_params += params;
  in.note("the audio tower's weights are counted with the embedding, its work is not");
}

}  // namespace headroom
