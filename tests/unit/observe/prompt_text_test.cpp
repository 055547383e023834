// Made-up prompts have the workload's lengths and shared beginnings.

#include "sim/observe/prompt_text.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/scenario/json_document.hpp"

namespace headroom::prompt_text_test {
namespace {

Arrival arrival_of(std::int32_t tokens, std::span<const PrefixSegment> prefix = {}) {
  Arrival arrival;
  arrival.prompt_tokens = tokens;
  arrival.prefix = prefix;
  return arrival;
}

PromptRule ids_rule() {
  PromptRule rule;
  for (std::int32_t id = 1000; id < 1100; ++id) rule.ids.push_back(id);
  return rule;
}

std::vector<int> ids_in(const std::string& json) {
  return Json::parse(json).get<std::vector<int>>();
}

}  // namespace

TEST_CASE("a prompt has as many ids as tokens, all of those that are known") {
  const std::vector<int> ids = ids_in(prompt_json(ids_rule(), arrival_of(300), 0, 1));
  CHECK(ids.size() == 300);
  CHECK(std::ranges::all_of(ids, [](int id) { return id >= 1000 && id < 1100; }));
}

TEST_CASE("a prompt is shorter by what the server adds") {
  PromptRule rule = ids_rule();
  rule.added_tokens = 1;
  CHECK(ids_in(prompt_json(rule, arrival_of(300), 0, 1)).size() == 299);
  CHECK(ids_in(prompt_json(rule, arrival_of(1), 0, 1)).size() == 1);  // none would be refused
}

TEST_CASE("prompts are equal over equal pieces and differ behind them") {
  const std::array first{PrefixSegment{7, 16}, PrefixSegment{9, 8}};
  const std::array second{PrefixSegment{7, 16}, PrefixSegment{8, 8}};
  const auto ids = [&](std::span<const PrefixSegment> prefix, std::uint64_t index) {
    return ids_in(prompt_json(ids_rule(), arrival_of(40, prefix), index, 1));
  };
  const auto alike = [](const std::vector<int>& a, const std::vector<int>& b) {
    return std::ranges::mismatch(a, b).in1 - a.begin();
  };
  CHECK(alike(ids(first, 0), ids(first, 1)) == 24);
  CHECK(alike(ids(first, 0), ids(second, 1)) == 16);
}

TEST_CASE("the same request has another prompt in another run") {
  const Arrival arrival = arrival_of(40);
  CHECK(prompt_json(ids_rule(), arrival, 3, 1) == prompt_json(ids_rule(), arrival, 3, 1));
  CHECK(prompt_json(ids_rule(), arrival, 3, 1) != prompt_json(ids_rule(), arrival, 3, 2));
  CHECK(prompt_json(ids_rule(), arrival, 3, 1) != prompt_json(ids_rule(), arrival, 4, 1));
}

TEST_CASE("words are as many as make up the tokens") {
  PromptRule rule;
  rule.form = PromptForm::words;
  rule.tokens_per_word = 2;
  rule.added_tokens = 4;
  const std::array prefix{PrefixSegment{7, 20}};
  const auto text = [&](std::uint64_t index) {
    return Json::parse(prompt_json(rule, arrival_of(64, prefix), index, 1)).get<std::string>();
  };
  CHECK(std::ranges::count(text(0), ' ') == 29);  // (64 - 4) / 2 words
  // Ten of them are the shared twenty tokens.
  const std::string first = text(0);
  const auto end = std::ranges::mismatch(first, text(1)).in1;
  CHECK(std::count(first.begin(), end, ' ') >= 10);
}

}  // namespace headroom::prompt_text_test
