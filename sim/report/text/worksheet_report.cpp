#include "sim/report/text/capacity_report.hpp"

#include <fmt/format.h>

#include "sim/report/text/terminal.hpp"

namespace headroom {
namespace {

using TableRow = std::vector<std::string>;

std::string gb(double value) { return fmt::format("{:.2f} GB", value); }

TableRow cells(const Worksheet& sheet, std::string label, const auto& text_of_column) {
  TableRow row{std::move(label)};
  for (const WorksheetColumn& c : sheet.columns) row.push_back(text_of_column(c));
  return row;
}

std::string columns_text(const Worksheet& sheet) {
  using Cell = const WorksheetColumn&;
  return table_text(
      {cells(sheet, "", [](Cell c) { return c.title; }),
       cells(sheet, "KV per token, whole model",
             [](Cell c) { return fmt::format("{:.3f} MB", c.kv_gb_per_token * 1000); }),
       cells(sheet, "KV needed per GPU", [](Cell c) { return gb(c.kv_needed_per_gpu_gb); }),
       cells(sheet, "available per GPU", [](Cell c) { return gb(c.available_per_gpu_gb); }),
       cells(sheet, "will it fit", [](Cell c) { return c.will_fit ? "yes" : "no"; }),
       cells(sheet, "headroom", [](Cell c) { return gb(c.headroom_gb); }),
       cells(sheet, "max concurrent", [](Cell c) { return human_count(c.max_concurrent); })});
}

std::string audit_text(const Worksheet& sheet) {
  const MemoryAudit& a = sheet.audit;
  std::string out = "audit per GPU (context, allocator and activations: the document's figures)\n";
  const auto add = [&out](std::string_view what, double value, std::string_view remark) {
    out +=
        fmt::format("  {:<28}{:>10.2f} GB{}{}\n", what, value, remark.empty() ? "" : "  ", remark);
  };
  add("weights", a.weights_per_gpu_gb, fmt::format("of {:.2f} GB in all", a.weights_gb));
  add("CUDA context", a.context_gb, "");
  add("allocator", a.allocator_gb, "");
  add("activations", a.activations_gb, "during a forward pass; the document omits them");
  add("available for KV", a.available_gb, "as written");
  add("", a.available_less_activations_gb, "with activations subtracted");
  add("KV, 1 request of 1,000", a.kv_1k_one_request_gb, "tokens, all GPUs");
  add("KV, 10 requests of 8,000", a.kv_8k_ten_requests_gb, "tokens, all GPUs");
  return out;
}

}  // namespace

std::string worksheet_text(const std::vector<Worksheet>& sheets) {
  std::string out;
  for (const Worksheet& sheet : sheets) {
    const WorksheetInput& in = sheet.input;
    out += fmt::format(
        "worksheet: {}, {} tokens x {} requests, {} GPU(s) of {:.4g} GB, overhead {:.4g} GB\n",
        in.model, human_count(in.context_tokens), human_count(in.concurrent_requests),
        in.tensor_parallel, in.gpu_memory_gb, in.overhead_gb);
    out += columns_text(sheet);
  }
  out += "as written, max concurrent sets one GPU's memory against the KV of the whole model\n";
  if (!sheets.empty()) out += audit_text(sheets.front());
  return out + "GB = 10^9 bytes\n";
}

}  // namespace headroom
