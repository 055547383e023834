#pragma once
// The switches of SglangRules by name, for tests that draw, shrink and print them.

#include <array>

#include "scheduler/batching/sglang_rules.hpp"

namespace headroom::oracle {

struct SglangRule {
  const char* name;
  bool SglangRules::*field;
};

inline constexpr std::array<SglangRule, 12> kSglangRules{{
    {"counts_pages", &SglangRules::counts_pages},
    {"pieces_leave_output", &SglangRules::pieces_leave_output},
    {"expects_rest", &SglangRules::expects_rest},
    {"adds_page", &SglangRules::adds_page},
    {"tests_page", &SglangRules::tests_page},
    {"counts_rows", &SglangRules::counts_rows},
    {"clips_in_pages", &SglangRules::clips_in_pages},
    {"limits_pieces", &SglangRules::limits_pieces},
    {"idle_without_queue", &SglangRules::idle_without_queue},
    {"skips_last_step", &SglangRules::skips_last_step},
    {"filters_always", &SglangRules::filters_always},
    {"stops_when_spent", &SglangRules::stops_when_spent},
}};

}  // namespace headroom::oracle
