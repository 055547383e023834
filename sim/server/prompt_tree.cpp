#include "sim/server/prompt_tree.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

void PromptTree::forget() {
  pieces_.assign(1, {});
  branches_.clear();
  tokens_ = 0;
  ++age_;
}

void PromptTree::make_room(std::size_t tokens) {
  if (tokens_ > 0 && tokens_ + tokens > most_tokens_) forget();
}

std::uint32_t PromptTree::grow(const Branch& branch, std::span<const TokenId> tokens) {
  const auto piece = static_cast<std::uint32_t>(pieces_.size());
  pieces_.push_back({++ids_, {tokens.begin(), tokens.end()}});
  branches_.emplace(branch, piece);
  tokens_ += tokens.size();
  return piece;
}

PromptTree::Found PromptTree::add(std::span<const TokenId> prompt) {
  HEADROOM_CHECK(!prompt.empty(), "a prompt without tokens");
  make_room(prompt.size());
  Found found;
  found.end.age = age_;
  while (!prompt.empty()) {
    const Branch branch{found.end.piece, found.end.offset, prompt.front()};
    const auto known = branches_.find(branch);
    const std::uint32_t number = known != branches_.end() ? known->second : grow(branch, prompt);
    const Piece& piece = pieces_[number];
    const auto apart = std::ranges::mismatch(piece.tokens, prompt).in2;
    const auto same = static_cast<std::size_t>(apart - prompt.begin());
    found.pieces.push_back({piece.id, static_cast<std::int32_t>(same)});
    found.end.piece = number;
    found.end.offset = static_cast<std::uint32_t>(same);
    prompt = prompt.subspan(same);
  }
  return found;
}

std::uint64_t PromptTree::add_answer(const Place& prompt, std::span<const TokenId> answer) {
  if (answer.empty() || prompt.age != age_) return 0;
  const Branch branch{prompt.piece, prompt.offset, answer.front()};
  const std::vector<TokenId>& tokens = pieces_[prompt.piece].tokens;
  const bool goes_on = prompt.offset < tokens.size() && tokens[prompt.offset] == answer.front();
  if (goes_on || branches_.contains(branch)) return 0;
  return pieces_[grow(branch, answer)].id;
}

}  // namespace headroom
