// Four prices tell the figures of a cost that is linear in everything.

#include <catch2/catch.hpp>

#include "sim/resolve/latency_model.hpp"

namespace headroom::latency_model_test {

namespace {

// In microseconds: 5,000 a step, 40 a prompt token, 30 a sequence, 0.25 a token of context.
class LinearCost final : public StepCost {
 public:
  void price(const StepShape& shape, StepPrice& price) const override {
    const Ticks quarters =
        20'000 + 160 * shape.chunk_tokens + 120 * shape.decode_rows + shape.decode_context;
    price.base = quarters * (Ticks{250} << 20);
  }
};

}  // namespace

TEST_CASE("the figures of a linear cost are its coefficients") {
  const LatencyModel model = latency_model(LinearCost());
  CHECK(model.step_ns == Approx(5e6));
  CHECK(model.sequence_ns == Approx(30e3));
  CHECK(model.kv_token_ns == Approx(250));
  CHECK(model.prompt_token_ns == Approx(40e3 + 5e6 / 2048));  // with its share of the step
}

}  // namespace headroom::latency_model_test
