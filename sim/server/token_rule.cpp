#include "sim/server/token_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/serving/prefix.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kSmallestVocabulary = 1024;
constexpr TokenId kChatBegins = 1;
constexpr TokenId kMessageEnds = 2;
constexpr TokenId kFirstRole = 3;
constexpr std::uint64_t kRoles = 12;

// FNV-1a of 64 bits (draft-eastlake-fnv, constants of section 5).
constexpr std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

enum class PieceKind : std::uint8_t { word, other_script, blank, sign };

PieceKind kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) return PieceKind::other_script;
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return PieceKind::blank;
  const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return word ? PieceKind::word : PieceKind::sign;
}

bool is_letter_or_digit(PieceKind kind) {
  return kind == PieceKind::word || kind == PieceKind::other_script;
}

struct Piece {
  PieceKind kind = PieceKind::word;
  std::size_t first = 0;  // behind the blank that it may begin with
  std::size_t end = 0;
};

// One blank before a word belongs to it, and not to the run of blanks before that.
Piece piece_at(std::string_view text, std::size_t begin) {
  const auto kind_at = [&](std::size_t at) { return kind_of(text[at]); };
  const bool leads =
      text[begin] == ' ' && begin + 1 < text.size() && is_letter_or_digit(kind_at(begin + 1));
  Piece piece;
  piece.first = begin + (leads ? 1 : 0);
  piece.kind = kind_at(piece.first);
  piece.end = piece.first + 1;
  while (piece.end < text.size() && kind_at(piece.end) == piece.kind) ++piece.end;
  const bool gives_back = piece.kind == PieceKind::blank && piece.end < text.size() &&
                          piece.end - begin > 1 && text[piece.end - 1] == ' ' &&
                          is_letter_or_digit(kind_at(piece.end));
  if (gives_back) --piece.end;
  return piece;
}

std::size_t bytes_per_token(PieceKind kind) {
  switch (kind) {
    case PieceKind::word: return 8;
    case PieceKind::other_script: return 4;
    case PieceKind::sign: return 3;
    case PieceKind::blank: break;
  }
  return SIZE_MAX;
}

constexpr std::array<std::string_view, 128> kFiller = {
    " time",  " people", " way",    " water",   " words",   " light",   " house",  " world",
    " area",  " place",  " year",   " day",     " night",   " story",   " point",  " city",
    " hand",  " school", " number", " group",   " case",    " part",    " fact",   " week",
    " work",  " home",   " room",   " book",    " line",    " side",    " kind",   " head",
    " power", " hour",   " game",   " end",     " law",     " car",     " team",   " minute",
    " idea",  " body",   " back",   " level",   " face",    " door",    " health", " art",
    " war",   " party",  " result", " change",  " reason",  " moment",  " air",    " force",
    " age",   " policy", " music",  " market",  " sense",   " plan",    " field",  " voice",
    " river", " table",  " street", " paper",   " letter",  " farm",    " garden", " bridge",
    " stone", " forest", " winter", " summer",  " train",   " coffee",  " window", " kitchen",
    " ocean", " island", " valley", " cloud",   " storm",   " snow",    " rain",   " wind",
    " bread", " sugar",  " apple",  " salt",    " silver",  " gold",    " glass",  " wood",
    " chair", " clock",  " lamp",   " wheel",   " engine",  " signal",  " paint",  " colour",
    " song",  " dance",  " poem",   " page",    " author",  " editor",  " nurse",  " doctor",
    " pilot", " sailor", " farmer", " driver",  " teacher", " guest",   " friend", " cousin",
    " judge", " court",  " museum", " harbour", " castle",  " village", " church", " temple"};

constexpr std::size_t kFewestFillerWords = 8;

}  // namespace

TokenRule::TokenRule(std::int64_t vocabulary, std::shared_ptr<const Tokenizer> tokenizer)
    : vocabulary_(std::clamp<std::int64_t>(vocabulary, kSmallestVocabulary, INT32_MAX)),
      tokenizer_(std::move(tokenizer)) {
  if (tokenizer_) vocabulary_ = std::max<std::int64_t>(vocabulary_, tokenizer_->size());
  // Alone, a word may be cut in another way than behind others.
  const std::string before(kFiller.front().substr(1));
  const std::vector<TokenId> before_ids = ids_of(before);
  for (const std::string_view word : kFiller) {
    const std::vector<TokenId> bare = ids_of(word.substr(1));
    std::vector<TokenId> ids = ids_of(before + std::string(word));
    if (ids.empty()) continue;
    const TokenId last = ids.back();
    ids.pop_back();
    if (bare.size() == 1 && ids == before_ids) filler_.push_back({word, last, bare[0]});
  }
  if (filler_.size() >= kFewestFillerWords) return;
  throw ConfigError(
      fmt::format("only {} of the words that answers are made of are one token of "
                  "this tokenizer; expected at least {}",
                  filler_.size(), kFewestFillerWords));
}

void TokenRule::append(std::string_view text, std::vector<TokenId>& ids, bool adds_special) const {
  if (tokenizer_) {
    tokenizer_->encode(text, adds_special, ids);
  } else {
    cut_by_rule(text, ids);
  }
}

void TokenRule::cut_by_rule(std::string_view text, std::vector<TokenId>& ids) const {
  for (std::size_t begin = 0; begin < text.size();) {
    const Piece piece = piece_at(text, begin);
    const std::size_t most = bytes_per_token(piece.kind);
    for (std::size_t at = piece.first; at < piece.end;) {
      const std::size_t stop = piece.end - at > most ? at + most : piece.end;
      ids.push_back(id_of(text.substr(begin, stop - begin)));
      begin = at = stop;
    }
  }
}

TokenId TokenRule::id_of(std::string_view bytes) const {
  const auto ids = static_cast<std::uint64_t>(vocabulary_ - kFirstTextId);
  return kFirstTextId + static_cast<TokenId>(hash_of(bytes) % ids);
}

const TokenRule::FillerWord& TokenRule::filler(std::uint64_t seed, std::int64_t position) const {
  return filler_[mixed_id(seed, static_cast<std::uint64_t>(position)) % filler_.size()];
}

std::string_view TokenRule::filler_piece(std::uint64_t seed, std::int64_t position,
                                         bool is_chat) const {
  const std::string_view word = filler(seed, position).text;
  return is_chat && position == 0 ? word.substr(1) : word;
}

std::vector<TokenId> TokenRule::filler_ids(std::uint64_t seed, std::int64_t tokens,
                                           bool is_chat) const {
  std::vector<TokenId> ids;
  ids.reserve(static_cast<std::size_t>(tokens));
  for (std::int64_t i = 0; i < tokens; ++i) ids.push_back(filler(seed, i).id);
  if (is_chat && tokens > 0) ids[0] = filler(seed, 0).bare_id;
  return ids;
}

std::vector<TokenId> chat_ids(const TokenRule& rule, std::span<const ChatMessage> messages,
                              bool asks) {
  const auto role_id = [](std::string_view role) {
    return kFirstRole + static_cast<TokenId>(hash_of(role) % kRoles);
  };
  std::vector<TokenId> ids = {kChatBegins};
  for (const ChatMessage& message : messages) {
    ids.push_back(role_id(message.role));
    rule.append(message.text, ids);
    ids.push_back(kMessageEnds);
  }
  if (asks) ids.push_back(role_id("assistant"));
  return ids;
}

}  // namespace headroom
