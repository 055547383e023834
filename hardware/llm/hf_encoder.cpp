// Encoders of BERT's kind, which make vectors of prompts. Parameters after the modules of
// Transformers (bert, xlm_roberta, mpnet, nomic_bert) and of Alibaba-NLP/new-impl.

#include <algorithm>
#include <string>

#include "hardware/llm/hf_reader.hpp"

namespace headroom {
namespace {

// Their first position is the one behind the padding token's, so the last rows hold no token.
std::int64_t rows_before_first(const HfFields& text) {
  const std::string type = text.text("model_type");
  const bool shifted = type == "mpnet" || type.find("roberta") != std::string::npos;
  return shifted ? text.integer_or({"pad_token_id"}, 1) + 1 : 0;
}

// A pooler over the first token; in its place a classifier of one output (rerankers) with a dense
// layer before it. nomic and gte take the hidden state as it is.
std::int64_t head_params(const HfIntake& in) {
  if (in.traits.position_rows < 0) return 0;
  const std::int64_t h = in.model.hidden;
  const std::vector<std::string> names = in.root.texts("architectures");
  const bool classifies = !names.empty() && names.front().ends_with("ForSequenceClassification");
  return h * h + h + (classifies ? h + 1 : 0);
}

}  // namespace

void read_encoder(HfIntake& in) {
  read_decoder(in);
  ModelSpec& m = in.model;
  for (LayerKind& kind : m.kinds) kind.attention->bidirectional = true;
  m.tie_embeddings = true;  // there is no head
  m.pooling = true;
  const std::int64_t buckets = in.text.integer_or({"relative_attention_num_buckets"}, 0);
  m.extra_embedding_params = in.text.integer_or({"type_vocab_size"}, 0) * m.hidden +
                             buckets * m.kinds.front().attention->q_heads + head_params(in);
  // vLLM: NomicBertModelConfig, verify_and_update_config.
  const std::int64_t trained = in.text.integer_or({"max_trained_positions"}, 0);
  if (trained > 0) m.max_position = std::min(m.max_position, trained);
  m.max_position -= rows_before_first(in.text);
  if (m.max_position < 1) {
    throw in.text.error("max_position_embeddings", "more than the padding token's position");
  }
  in.note(
      "an encoder: a prompt is computed in one piece, and nothing of it needs to be kept (vLLM and "
      "llama.cpp have no KV pool for it, SGLang fills one all the same)");
}

}  // namespace headroom
