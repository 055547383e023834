#pragma once
// Models and devices that the tests of the start-up budgets can follow by hand.

#include <cstdint>
#include <string>

#include "hardware/budget/budget.hpp"

namespace headroom::budget_test {

struct Dense {
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, max_position;
};

inline LayerKind dense_layer(const Dense& d, Dtype dtype) {
  LayerKind kind;
  AttentionSpec a;
  a.q_heads = d.heads;
  a.kv_heads = d.kv_heads;
  a.head_dim = a.v_head_dim = d.head_dim;
  a.format = {dtype, 0, 0};
  kind.attention = a;
  MlpSpec mlp;
  mlp.ffn = d.ffn;
  mlp.format = {dtype, 0, 0};
  kind.mlp = mlp;
  return kind;
}

inline ModelSpec dense_model(std::string id, const Dense& d, Dtype dtype = Dtype::bf16) {
  ModelSpec m;
  m.id = std::move(id);
  m.hidden = d.hidden;
  m.vocab = d.vocab;
  m.max_position = d.max_position;
  m.dtype = dtype;
  m.embedding_format = m.head_format = {dtype, 0, 0};
  add_layers(m, dense_layer(d, dtype), d.layers);
  return m;
}

// 8,030,261,248 parameters, 131,072 bytes of KV per token in 16 bit.
inline ModelSpec llama31_8b() {
  return dense_model("llama-3.1-8b", {32, 4096, 32, 8, 128, 14336, 128256, 131072});
}

// 7,615,616,512 parameters, 57,344 bytes of KV per token in 16 bit.
inline ModelSpec qwen25_7b() {
  ModelSpec m =
      dense_model("qwen2.5-7b", {28, 3584, 28, 4, 128, 18944, 152064, 32768}, Dtype::fp16);
  m.kinds.front().attention->qkv_bias = true;
  return m;
}

// Three recurrent layers to one of attention: 48 and 16, states as in Qwen3.5-27B.
inline ModelSpec hybrid_27b() {
  const Dense d{0, 5120, 24, 4, 256, 17408, 248320, 262144};
  ModelSpec m = dense_model("hybrid-27b", d);
  LayerKind recurrent = dense_layer(d, Dtype::bf16);
  recurrent.attention.reset();
  RecurrentSpec r;
  r.family = RecurrentSpec::Family::gated_delta_net;
  r.key_heads = 16;
  r.value_heads = 48;
  r.key_head_dim = r.value_head_dim = 128;
  r.conv_kernel = 4;
  recurrent.recurrent = r;
  for (int i = 0; i < 16; ++i) {
    add_layers(m, recurrent, 3);
    add_layers(m, dense_layer(d, Dtype::bf16), 1);
  }
  return m;
}

inline DeviceSpec device_of(double gib, std::int32_t sm = 90,
                            MemoryModel memory = MemoryModel::discrete) {
  DeviceSpec d;
  d.id = d.name = "test-device";
  d.vendor = "nvidia";
  d.sm = sm;
  d.memory_model = memory;
  d.memory_reported_bytes = d.memory_nominal_bytes = bytes_from_gib(gib);
  return d;
}

inline BudgetInputs inputs_of(ModelSpec model, double gib) {
  BudgetInputs inputs;
  inputs.model = std::move(model);
  inputs.device = device_of(gib);
  inputs.machine = idle_machine(inputs.device);
  return inputs;
}

}  // namespace headroom::budget_test
