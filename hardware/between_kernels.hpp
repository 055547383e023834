#pragma once
// What a step takes between and beside the kernels that the kernel library has times of: constants
// of an engine, shared by all models and devices (catalog/between_kernels.json).

#include <string>
#include <vector>

#include "hardware/calibration.hpp"

namespace headroom {

struct BetweenKernels {
  std::string id;  // cost family of the engine: vllm, sglang, trtllm

  // A step outside captured graphs takes at least this long per launch, for the launches of its
  // layers: the host issues them one by one.
  double launch_ns = 0;
  double layer_launches = 0;      // of a dense layer with attention
  double expert_launches = 0;     // more of a layer with routed experts
  double latent_launches = 0;     // more of one with latent attention
  double recurrent_launches = 0;  // more of a recurrent layer
  double quantise_launches = 0;   // more of one that quantises activations per group of 128

  double layer_ns = 0;            // small kernels of a layer: norms, rotary, cache write, gating
  double latent_layer_share = 1;  // of layer_ns that the measured block of latent attention lacks
  double sparse_ns = 0;           // more in one whose latent attention has an indexer
  double recurrent_ns = 0;        // more in a recurrent layer
  double quantise_ns = 0;         // more in a layer that quantises activations per group of 128
  double reduce_ns = 0;  // of an all-reduce, per doubling of ranks: they wait for the slowest
  // Elementwise kernels of a step that holds prompt tokens: per token and element of the hidden
  // states of all layers. And of the layers that quantise, to do that.
  double elementwise_ns = 0;
  double quantise_token_ns = 0;
  double sequence_ns = 0;      // per decoding sequence: sampling, detokenising
  double request_ns = 0;       // from the client to the queue and back, per request
  double prompt_token_ns = 0;  // more of it per token of the prompt
  // Of these, what requests that come together wait for one another at client and API process.
  double entry_ns = 0;
  double entry_token_ns = 0;             // per token of the prompt
  std::vector<ObservedErrors> observed;  // of replayed runs, 80 of 100 lay within
  std::string source;
};

}  // namespace headroom
