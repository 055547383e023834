// Option rows outside engine and workload.

#include "sim/setup/options.hpp"

namespace headroom {
namespace {

constexpr Bounds kPositive{.low = 0, .low_open = true};
constexpr std::string_view kAffineOnly = "/cost/level=affine";

template <auto... M>
constexpr auto at = field<M...>;

const OptionRow kRows[] = {
    {.pointer = "/name",
     .reach = at<&Scenario::name>,
     .doc = "short name; also the default results folder",
     .absent = "the file's name"},
    {.pointer = "/description",
     .reach = at<&Scenario::description>,
     .doc = "what the run is about"},
    {.pointer = "/seed",
     .reach = at<&Scenario::seed>,
     .bounds = {.low = 0, .high = 9007199254740992},
     .doc = "of all random streams"},
    {.pointer = "/model",
     .reach = at<&Scenario::model>,
     .doc = "catalog name; `headroom list models`"},
    {.pointer = "/device",
     .reach = at<&Scenario::device>,
     .doc = "catalog name; `headroom list devices`"},

    {.pointer = "/cost/level",
     .reach = at<&Scenario::cost, &CostSection::level>,
     .choices = "calibrated|spec|affine",
     .doc = "step-time model: fitted constants, data sheet, or a + b * tokens"},
    {.pointer = "/cost/calibration",
     .reach = at<&Scenario::cost, &CostSection::calibration>,
     .doc = "auto, or an id of `headroom list calibrations`",
     .only_with = "/cost/level=calibrated"},
    {.pointer = "/cost/affine/step_us",
     .reach = at<&Scenario::cost, &CostSection::affine, &AffineSection::step_us>,
     .unit = "us",
     .bounds = {.low = 0, .high = 1e9, .low_open = true},
     .doc = "constant per step",
     .only_with = kAffineOnly},
    {.pointer = "/cost/affine/prompt_token_us",
     .reach = at<&Scenario::cost, &CostSection::affine, &AffineSection::prompt_token_us>,
     .unit = "us",
     .bounds = {.low = 0, .high = 1e6},
     .doc = "per prompt token of a step",
     .only_with = kAffineOnly},
    {.pointer = "/cost/affine/decode_token_us",
     .reach = at<&Scenario::cost, &CostSection::affine, &AffineSection::decode_token_us>,
     .unit = "us",
     .bounds = {.low = 0, .high = 1e6},
     .doc = "per decoding sequence of a step",
     .only_with = kAffineOnly},
    {.pointer = "/cost/affine/context_token_us",
     .reach = at<&Scenario::cost, &CostSection::affine, &AffineSection::context_token_us>,
     .unit = "us",
     .bounds = {.low = 0, .high = 1e3},
     .doc = "per token of context that decoding sequences read",
     .only_with = kAffineOnly},

    {.pointer = "/slo/ttft_ms",
     .reach = at<&Scenario::slo, &SloSection::ttft_ms>,
     .unit = "ms",
     .bounds = kPositive,
     .doc = "goodput: time to first token at most",
     .absent = "no limit"},
    {.pointer = "/slo/tpot_ms",
     .reach = at<&Scenario::slo, &SloSection::tpot_ms>,
     .unit = "ms",
     .bounds = kPositive,
     .doc = "goodput: time per output token at most",
     .absent = "no limit"},
    {.pointer = "/slo/e2el_ms",
     .reach = at<&Scenario::slo, &SloSection::e2el_ms>,
     .unit = "ms",
     .bounds = kPositive,
     .doc = "goodput: end-to-end latency at most",
     .absent = "no limit"},

    {.pointer = "/run/until_s",
     .reach = at<&Scenario::run, &RunSection::until_s>,
     .unit = "s",
     .bounds = {.low = 0, .high = 9e9, .low_open = true},
     .doc = "simulated time at which the run ends",
     .absent = "when all requests are served"},
    {.pointer = "/run/max_events",
     .reach = at<&Scenario::run, &RunSection::max_events>,
     .bounds = {.low = 1, .high = 9e15},
     .doc = "events after which the run ends",
     .absent = "no limit"},
    {.pointer = "/run/no_progress_events",
     .reach = at<&Scenario::run, &RunSection::no_progress_events>,
     .bounds = {.low = 1, .high = 9e15},
     .doc = "events without a token after which it is thrash"},
    {.pointer = "/run/warmup_s",
     .reach = at<&Scenario::run, &RunSection::warmup_s>,
     .unit = "s",
     .bounds = {.low = 0, .high = 9e9},
     .doc = "after the first arrival, reported apart",
     .absent = "10 % of the time of arrivals"},
    {.pointer = "/run/steady_end_s",
     .reach = at<&Scenario::run, &RunSection::steady_end_s>,
     .unit = "s",
     .bounds = {.low = 0, .high = 9e9},
     .doc = "after the first arrival, end of the steady window",
     .absent = "the last arrival"},
    {.pointer = "/run/single_step",
     .reach = at<&Scenario::run, &RunSection::single_step>,
     .doc = "never jump over equal steps: same results, slower"},

    {.pointer = "/output/timeline_interval_s",
     .reach = at<&Scenario::output, &OutputSection::timeline_interval_s>,
     .unit = "s",
     .bounds = {.low = 1e-6, .high = 9e9},
     .doc = "between rows of timeline.csv"},
};

}  // namespace

std::span<const OptionRow> general_options() { return kRows; }

}  // namespace headroom
