#include "sim/serving/admission_rules.hpp"

#include <catch2/catch.hpp>

namespace headroom::admission_rules_test {
namespace {

const AdmissionLimits kLimits{
    .max_model_len = 100, .max_request_tokens = 80, .max_prompt_tokens = 90, .max_requests = 3};

Request taken_in(const AdmissionRules& rules, const Arrival& arrival) {
  Request request;
  rules.fill(request, arrival, 7);
  return request;
}

TEST_CASE("an answer of undeclared length may fill the context", "[admission_rules]") {
  const AdmissionRules rules(kLimits, OutputReservation::max_tokens);
  const Arrival arrival{.time_ns = 5, .prompt_tokens = 30, .output_tokens = 200};
  const Request request = taken_in(rules, arrival);
  CHECK(request.index == 7);
  CHECK(request.arrival_ns == 5);
  CHECK(request.state == RequestState::waiting);
  CHECK(request.max_tokens == 70);
  CHECK(output_of(request, arrival) == 70);
}

TEST_CASE("a declared length beyond the context is refused, or cut", "[admission_rules]") {
  const Arrival arrival{.prompt_tokens = 30, .output_tokens = 10, .max_tokens = 71};
  AdmissionLimits limits = kLimits;
  const AdmissionRules refuses(limits, OutputReservation::max_tokens);
  CHECK_FALSE(refuses.fits_context(taken_in(refuses, arrival)));
  limits.cuts_max_tokens = true;
  const AdmissionRules cuts(limits, OutputReservation::max_tokens);
  CHECK(taken_in(cuts, arrival).max_tokens == 70);
  CHECK(cuts.can_ever_serve(taken_in(cuts, arrival)));
}

TEST_CASE("a request is servable if an empty pool holds what it needs first", "[admission_rules]") {
  // 80 tokens are room for a prompt of 79 and one more.
  const Arrival fits{.prompt_tokens = 79, .output_tokens = 5, .max_tokens = 10};
  const Arrival too_long{.prompt_tokens = 80, .output_tokens = 5, .max_tokens = 10};
  AdmissionLimits limits = kLimits;
  const AdmissionRules rules(limits, OutputReservation::max_tokens);
  CHECK(rules.can_ever_serve(taken_in(rules, fits)));
  CHECK(rules.fits_context(taken_in(rules, too_long)));
  CHECK_FALSE(rules.can_ever_serve(taken_in(rules, too_long)));
  // With its max_tokens set aside it needs 89.
  limits.reserves_max_tokens = true;
  const AdmissionRules reserves(limits, OutputReservation::max_tokens);
  CHECK_FALSE(reserves.can_ever_serve(taken_in(reserves, fits)));
  // The true output is 5: 84.
  const AdmissionRules oracle(limits, OutputReservation::oracle);
  CHECK(taken_in(oracle, fits).reserved_output == 5);
  // The next power of two, 8.
  const AdmissionRules pow2(limits, OutputReservation::pow2);
  CHECK(taken_in(pow2, fits).reserved_output == 8);
  const AdmissionRules longest(limits, OutputReservation::max_model_len);
  CHECK(taken_in(longest, fits).reserved_output == 21);
}

TEST_CASE("an engine takes only so many requests at once", "[admission_rules]") {
  const AdmissionRules rules(kLimits, OutputReservation::max_tokens);
  CHECK_FALSE(rules.is_full(2));
  CHECK(rules.is_full(3));
}

}  // namespace
}  // namespace headroom::admission_rules_test
