#include <array>

#include "sim/engines/log_text.hpp"
#include "sim/engines/sglang/engine.hpp"
#include "sim/engines/started_log.hpp"

namespace headroom {
namespace {

using Said = StartFigure;

// SGLang divides by 2^30 where it prints GB (common/utils: get_available_gpu_memory; mem_cache/
// memory_pool.py: GB = 1024 ** 3).
constexpr std::array kSglangStarted{
    StartLine{.pattern = "Load weight begin. avail mem=# GB", .figures = {Said::free_before}},
    StartLine{.pattern = "Load weight end*avail mem=# GB, mem usage=# GB",
              .figures = {Said::free_after, Said::weights}},
    StartLine{.pattern = "KV Cache is allocated*tokens: #, K size: # GB, V size: # GB",
              .figures = {Said::pool_tokens, Said::kv, Said::kv}},
    StartLine{.pattern = "KV Cache is allocated*tokens: #, KV size: # GB",
              .figures = {Said::pool_tokens, Said::kv}},
    StartLine{.pattern = "Mamba Cache is allocated*conv_state size: # GB, ssm_state size: # GB",
              .figures = {Said::states, Said::states}},
    StartLine{.pattern = "Memory pool end*avail mem=# GB", .figures = {Said::free_after}},
    StartLine{.pattern = "Capture cuda graph end*mem usage=# GB. avail mem=# GB",
              .figures = {Said::graphs, Said::free_after}},
    StartLine{
        .pattern = "max_total_num_tokens=#*max_running_requests=#, context_len=#, "
                   "available_gpu_mem=# GB",
        .figures = {Said::pool_tokens, Said::requests, Said::context_length, Said::free_after}},
    StartLine{.pattern = "max_total_num_tokens=#*context_len=#",
              .figures = {Said::pool_tokens, Said::context_length}},
};

constexpr std::array<std::string_view, 7> kSglangMarks{
    "server_args=ServerArgs(", "Load weight ",        "KV Cache is allocated",
    "Memory pool end.",        "Capture cuda graph ", "max_total_num_tokens=",
    "Mamba Cache is allocated"};

void read_sglang_settings(std::string_view line, StartedLog& log) {
  if (!contains(line, "server_args=ServerArgs(")) return;
  if (const auto model = python_value(line, "model_path")) log.model = *model;
}

}  // namespace

const StartedLines kSglangStartedLines{.rows = kSglangStarted,
                                       .marks = kSglangMarks,
                                       .load_begins = {},
                                       .runs = nullptr,
                                       .read_settings = read_sglang_settings};

}  // namespace headroom
