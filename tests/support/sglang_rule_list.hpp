#pragma once
// The switches of SglangRules by name, for tests that draw, shrink and print them.

#include <array>

#include "scheduler/batching/sglang_rules.hpp"

namespace headroom::oracle {

struct SglangRule {
  const char* name;
  bool SglangRules::*field;
};

inline constexpr std::array<SglangRule, 9> kSglangRules{{
    {"counts_pages", &SglangRules::counts_pages},
    {"pieces_leave_output", &SglangRules::pieces_leave_output},
    {"expects_rest", &SglangRules::expects_rest},
    {"adds_page", &SglangRules::adds_page},
    {"tests_page", &SglangRules::tests_page},
    {"counts_rows", &SglangRules::counts_rows},
    {"clips_in_pages", &SglangRules::clips_in_pages},
    {"limits_pieces", &SglangRules::limits_pieces},
    {"idle_without_queue", &SglangRules::idle_without_queue},
}};

}  // namespace headroom::oracle
