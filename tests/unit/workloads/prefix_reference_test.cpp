// The replay against reference numbers made by two independent algorithms (TRACES.md 4.2), on
// traces that carry identities. Without the traces these tests say so and pass.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "workloads/prefix_replay.hpp"

namespace headroom::prefix_reference_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Replay = PrefixReplay;
using Options = PrefixReplayOptions;

fs::path traces() { return fs::path(HEADROOM_SHARED_DIR) / "traces"; }

bool missing(const fs::path& path) {
  if (fs::exists(path)) return false;
  WARN("skipped: no " << path.filename().string());
  return true;
}

std::vector<json> rows_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<json> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) rows.push_back(json::parse(line));
  }
  return rows;
}

const json& reference() {
  static const json numbers = json::parse(std::ifstream(traces() / "prefix_reference.json"));
  return numbers;
}

struct Prompt {
  std::int32_t tokens = 0;
  std::vector<PrefixSegment> prefix;
};

std::vector<std::int64_t> hits_of(Replay& replay, const std::vector<Prompt>& prompts) {
  std::vector<std::int64_t> hits;
  hits.reserve(prompts.size());
  for (const Prompt& prompt : prompts) hits.push_back(replay.add(prompt.tokens, prompt.prefix));
  return hits;
}

// "infinite", "lru_root_oldest_1000", "object_lru_inf", ...: the number behind the last '_'.
std::optional<std::int64_t> capacity_of(const std::string& row) {
  const std::string last = row.substr(row.rfind('_') + 1);
  if (last == "infinite" || last == "inf") return std::nullopt;
  return std::stoll(last);
}

// Printed with 8 decimals.
void check_ratio(double ours, const json& expected) {
  CHECK(std::abs(ours - expected.get<double>()) <= 0.5e-8 + 1e-12);
}

void check_row(const json& row, const Replay& replay, const std::vector<std::int64_t>& hits) {
  const PrefixReplayTotals& t = replay.totals();
  CHECK(t.requests == row.at("requests"));
  CHECK(t.blocks == row.at("blocks"));
  CHECK(t.hit_blocks == row.at("hit_blocks"));
  CHECK(t.input_tokens == row.at("input_tokens"));
  CHECK(t.hit_tokens == row.at("hit_tokens"));
  CHECK(t.capped_hit_blocks == row.at("capped_hit_blocks"));
  CHECK(t.capped_hit_tokens == row.at("capped_hit_tokens"));
  CHECK(t.requests_with_hit == row.at("requests_with_hit"));
  CHECK(t.max_hit_blocks == row.at("max_hit_blocks"));
  CHECK(t.evictions == row.at("evictions"));
  check_ratio(t.hit_ratio_blocks(), row.at("hit_ratio_blocks"));
  check_ratio(t.hit_ratio_tokens(), row.at("hit_ratio_tokens"));
  check_ratio(t.capped_hit_ratio_tokens(), row.at("capped_hit_ratio_tokens"));
  check_ratio(t.mean_request_ratio(), row.at("mean_request_ratio"));
  std::string lines;
  for (const std::int64_t hit : hits) lines += std::to_string(hit) + '\n';
  CHECK(sha256_hex(lines) == row.at("sha256_of_hits_per_line"));
  REQUIRE(hits.size() >= 20);
  CHECK(json(std::vector<std::int64_t>(hits.begin(), hits.begin() + 20)) == row.at("first_20"));
  CHECK(row.size() == 16);  // all of its numbers are compared above
}

// A cache of single objects: each block is a request of its own, known by its chain.
void check_object_row(const json& row, Options options, const std::vector<Prompt>& prompts) {
  Replay replay(options);
  for (const Prompt& prompt : prompts) {
    std::uint64_t chain = 0;
    for (const PrefixSegment& piece : prompt.prefix) {
      if (piece.tokens < options.block_tokens && !options.count_partial) continue;
      chain = mixed_id(chain, piece.id);
      const PrefixSegment object{chain, piece.tokens};
      (void)replay.add(object.tokens, {&object, 1});
    }
  }
  CHECK(replay.totals().blocks == row.at("accesses"));
  CHECK(replay.totals().hit_blocks == row.at("hits"));
  CHECK(replay.totals().evictions == row.at("evictions"));
  check_ratio(replay.totals().hit_ratio_blocks(), row.at("hit_ratio"));
  CHECK(row.size() == 4);
}

// All rows of one trace in one mode. Returns how many there are.
int check_rows(const json& rows, bool count_partial, const std::vector<Prompt>& prompts) {
  int checked = 0;
  for (const auto& [name, row] : rows.items()) {
    if (!row.is_object()) continue;
    INFO(name);
    Options options{.block_tokens = rows.at("block_tokens").get<std::int32_t>(),
                    .capacity_blocks = capacity_of(name),
                    .count_partial = count_partial};
    if (name.find("root_oldest") != std::string::npos) options.touch = PrefixTouch::root_oldest;
    ++checked;
    if (name.starts_with("object_")) {
      check_object_row(row, options, prompts);
      continue;
    }
    Replay replay(options);
    const std::vector<std::int64_t> hits = hits_of(replay, prompts);
    check_row(row, replay, hits);
    CHECK(replay.totals().distinct_blocks == rows.at("distinct_ids"));
  }
  return checked;
}

// --- Mooncake -----------------------------------------------------------------------------------

std::vector<Prompt> mooncake(const fs::path& path) {
  std::vector<Prompt> prompts;
  for (const json& row : rows_of(path)) {
    Prompt prompt{row.at("input_length").get<std::int32_t>(), {}};
    std::int32_t left = prompt.tokens;
    for (const json& id : row.at("hash_ids")) {
      prompt.prefix.push_back({id.get<std::uint64_t>(), std::min(left, 512)});
      left -= 512;
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

TEST_CASE("every reference number of the Mooncake conversation trace, in both modes", "[large]") {
  const fs::path path = traces() / "mooncake-fast25/conversation_trace.jsonl";
  if (missing(path)) return;
  const std::vector<Prompt> prompts = mooncake(path);
  REQUIRE(prompts.size() == 12031);
  // Each: infinite, 5 capacities in two touch orders, objects: infinite and 5 capacities.
  CHECK(check_rows(reference().at("mooncake_conversation/all"), true, prompts) == 17);
  CHECK(check_rows(reference().at("mooncake_conversation/full"), false, prompts) == 17);
}

// A prompt shares h tokens with some earlier one, so floor(h / b) blocks of any size b.
void check_any_block_size(const std::vector<Prompt>& prompts, const std::vector<std::int64_t>& h,
                          std::int32_t block_tokens) {
  INFO("blocks of " << block_tokens);
  Replay replay({.block_tokens = block_tokens});
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::int64_t hit = replay.add(prompts[i].tokens, prompts[i].prefix);
    differing += hit != h[i] / block_tokens ? 1 : 0;
  }
  CHECK(differing == 0);
}

TEST_CASE("pieces of 512 tokens are cut into the engine's blocks, small, large or odd", "[large]") {
  const fs::path path = traces() / "mooncake-fast25/conversation_trace.jsonl";
  if (missing(path)) return;
  const std::vector<Prompt> prompts = mooncake(path);
  Replay all({.block_tokens = 512, .count_partial = true});
  std::vector<std::int64_t> shared_tokens;
  for (const Prompt& prompt : prompts) {
    const std::int64_t before = all.totals().hit_tokens;
    (void)all.add(prompt.tokens, prompt.prefix);
    shared_tokens.push_back(all.totals().hit_tokens - before);
  }
  for (const std::int32_t b : {64, 100, 512, 1500}) {
    check_any_block_size(prompts, shared_tokens, b);
  }
}

// --- RAGPulse -----------------------------------------------------------------------------------

std::unordered_map<std::uint64_t, std::int32_t> chunk_lengths(const fs::path& folder) {
  std::unordered_map<std::uint64_t, std::int32_t> lengths;
  for (const char* kind :
       {"1_sys_prompt", "2_passages", "3_history", "4_user_input", "5_web_search"}) {
    for (const json& row : rows_of(folder / (std::string(kind) + ".jsonl"))) {
      for (const auto& [key, value] : row.items()) {
        if (key != "token_length") lengths[value.get<std::uint64_t>()] = row.at("token_length");
      }
    }
  }
  return lengths;
}

std::vector<Prompt> ragpulse(const fs::path& folder) {
  const auto lengths = chunk_lengths(folder);
  std::vector<json> rows = rows_of(folder / "0_trace.jsonl");
  std::ranges::stable_sort(rows, {}, [](const json& row) {
    return std::stoll(row.at("timestamp").get_ref<const std::string&>());
  });
  std::vector<Prompt> prompts;
  for (const json& row : rows) {
    Prompt prompt{row.at("input_length").get<std::int32_t>(), {}};
    for (const char* kind : {"sys_prompt", "passages_ids", "history", "web_search", "user_input"}) {
      for (const json& id : row.at("hash_ids").at(kind)) {
        prompt.prefix.push_back({id.get<std::uint64_t>(), lengths.at(id.get<std::uint64_t>())});
      }
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// Chunk by chunk: each is one block, of one token here; the lengths are summed aside.
struct ChunkHits {
  std::int64_t chunks = 0;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> tokens_of_prompt;
};
ChunkHits chain_hits(const std::vector<Prompt>& prompts) {
  Replay replay({.block_tokens = 1});
  ChunkHits result;
  for (const Prompt& prompt : prompts) {
    std::vector<PrefixSegment> chain = prompt.prefix;
    for (PrefixSegment& chunk : chain) chunk.tokens = 1;
    const std::int64_t hit = replay.add(prompt.tokens, chain);
    std::int64_t tokens = 0;
    for (std::int64_t i = 0; i < hit; ++i) {
      tokens += prompt.prefix[static_cast<std::size_t>(i)].tokens;
    }
    result.chunks += hit;
    result.tokens += tokens;
    result.tokens_of_prompt.push_back(tokens);
  }
  return result;
}

// Reuse wherever a chunk stands: each is a request of its own. A chunk that comes twice in a prompt
// and was not there before it is no hit, either time.
ChunkHits chunk_hits(const std::vector<Prompt>& prompts) {
  Replay replay({.block_tokens = 1});
  ChunkHits result;
  for (const Prompt& prompt : prompts) {
    std::vector<std::uint64_t> missed;
    for (const PrefixSegment& chunk : prompt.prefix) {
      const PrefixSegment alone{chunk.id, 1};
      std::int64_t hit = replay.add(1, {&alone, 1});
      if (hit == 0) missed.push_back(chunk.id);
      if (std::ranges::count(missed, chunk.id) > 0) hit = 0;
      result.chunks += hit;
      result.tokens += hit * chunk.tokens;
    }
  }
  return result;
}

TEST_CASE("chunks of their own lengths share what the reference says, in blocks of any size",
          "[large]") {
  if (missing(traces() / "ragpulse/0_trace.jsonl")) return;
  const std::vector<Prompt> prompts = ragpulse(traces() / "ragpulse");
  const json& expected = reference().at("ragpulse");

  const ChunkHits chain = chain_hits(prompts);
  CHECK(chain.chunks == expected.at("infinite_prefix_hit_chunks"));
  CHECK(chain.tokens == expected.at("infinite_prefix_hit_tokens"));
  const ChunkHits anywhere = chunk_hits(prompts);
  CHECK(anywhere.chunks == expected.at("position_independent_hit_chunks"));
  CHECK(anywhere.tokens == expected.at("position_independent_hit_tokens"));

  Replay replay({.block_tokens = 16, .count_partial = true});
  std::int64_t chunks = 0;
  for (const Prompt& prompt : prompts) {
    chunks += static_cast<std::int64_t>(prompt.prefix.size());
    (void)replay.add(prompt.tokens, prompt.prefix);
  }
  CHECK(replay.totals().requests == expected.at("requests"));
  CHECK(chunks == expected.at("chunks"));
  CHECK(replay.totals().prefix_tokens == expected.at("chunk_tokens"));
  CHECK(replay.totals().input_tokens == expected.at("input_tokens_incl_template"));
  const auto all = static_cast<double>(replay.totals().prefix_tokens);
  check_ratio(static_cast<double>(chain.tokens) / all,
              expected.at("infinite_prefix_hit_ratio_tokens"));
  check_ratio(static_cast<double>(anywhere.tokens) / all,
              expected.at("position_independent_hit_ratio_tokens"));

  for (const std::int32_t b : {16, 50, 500}) {
    check_any_block_size(prompts, chain.tokens_of_prompt, b);
  }
}

// --- token ids ----------------------------------------------------------------------------------

// One piece for each 16 tokens; what is left of the prompt behind them is a shorter piece.
Prompt prompt_of(const json& token_ids) {
  Prompt prompt{static_cast<std::int32_t>(token_ids.size()), {}};
  for (std::size_t begin = 0; begin < token_ids.size(); begin += 16) {
    const std::size_t end = std::min(begin + 16, token_ids.size());
    std::uint64_t id = 0;
    for (std::size_t i = begin; i < end; ++i) {
      id = mixed_id(id, token_ids[i].get<std::uint64_t>());
    }
    prompt.prefix.push_back({id, static_cast<std::int32_t>(end - begin)});
  }
  return prompt;
}

void check_token_trace(const std::string& name) {
  INFO(name);
  const fs::path path = traces() / "llmservingsim" / (name + ".jsonl");
  if (missing(path)) return;
  std::vector<Prompt> prompts;
  std::vector<Prompt> with_answers;
  for (const json& row : rows_of(path)) {
    json ids = row.at("input_tok_ids");
    prompts.push_back(prompt_of(ids));
    const json& answer = row.at("output_tok_ids");
    ids.insert(ids.end(), answer.begin(), answer.end());
    with_answers.push_back(prompt_of(ids));
  }
  // Infinite, 3 capacities in two touch orders, objects: infinite and 3 capacities.
  CHECK(check_rows(reference().at("lss_" + name + "/prompt_only"), false, prompts) == 11);

  // The answers kept as well: looked up by prompts, put in with the answers behind them.
  Replay replay({.block_tokens = 16});
  std::vector<std::int64_t> hits;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    hits.push_back(replay.add(prompts[i].tokens, prompts[i].prefix));
    (void)replay.add(with_answers[i].tokens, with_answers[i].prefix);
  }
  const json& kept = reference().at("lss_" + name + "/prompt_and_output").at("infinite");
  std::int64_t sum = 0;
  for (const std::int64_t hit : hits) sum += hit;
  CHECK(sum == kept.at("hit_blocks"));
}

TEST_CASE("every reference number of the two ShareGPT traces of token ids", "[large]") {
  check_token_trace("sharegpt-llama-3.1-8b-300-sps10");
  check_token_trace("sharegpt-qwen3-30b-a3b-300-sps10");
}

}  // namespace
}  // namespace headroom::prefix_reference_test
