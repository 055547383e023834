#include "tests/support/paired_lengths.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::paired_lengths_test {
namespace {

struct Pairs {
  std::vector<std::int32_t> prompts;
  std::vector<std::int32_t> outputs;
};

LengthOptions prompt_law() {
  LengthOptions options{.law = LengthLaw::lognormal};
  options.median = 1020.0;
  return options;
}
LengthOptions output_law() { return {.law = LengthLaw::uniform, .min = 1, .max = 1000}; }

// 1000 pairs, asked for in two pieces that are no multiple of a batch.
Pairs pairs(double correlation, const LengthOptions& prompt = prompt_law()) {
  PairedLengths lengths(prompt, output_law(), correlation, 5);
  Pairs drawn{std::vector<std::int32_t>(1000), std::vector<std::int32_t>(1000)};
  const std::span prompts(drawn.prompts);
  const std::span outputs(drawn.outputs);
  lengths.fill(prompts.first(300), outputs.first(300));
  lengths.fill(prompts.subspan(300), outputs.subspan(300));
  return drawn;
}

std::vector<std::int32_t> alone(const LengthOptions& options, const char* stream) {
  LengthSampler sampler(options, 5, stream);
  std::vector<std::int32_t> all(1000);
  sampler.fill(all);
  return all;
}

}  // namespace

TEST_CASE("prompts are the same at every correlation", "[workloads]") {
  const std::vector<std::int32_t> prompts = alone(prompt_law(), "lengths/prompt");
  for (const double correlation : {-1.0, -0.3, 0.0, 0.5, 1.0}) {
    CHECK(pairs(correlation).prompts == prompts);
  }
}

TEST_CASE("without correlation the outputs are those of a sampler alone", "[workloads]") {
  const std::vector<std::int32_t> outputs = alone(output_law(), "lengths/output");
  CHECK(pairs(0.0).outputs == outputs);
  CHECK(pairs(0.01).outputs != outputs);
}

TEST_CASE("full correlation makes one draw of both lengths", "[workloads]") {
  const Pairs up = pairs(1.0);
  const Pairs down = pairs(-1.0);
  const LengthSampler law(output_law(), 5, "lengths/output");
  RandomStream stream(5, "lengths/prompt");
  for (std::size_t i = 0; i < up.outputs.size(); ++i) {
    const double u = stream.uniform();
    CHECK(up.outputs[i] == law.at(u));
    CHECK(down.outputs[i] == law.at(1.0 - u));
  }
}

TEST_CASE("a small change of the correlation changes the outputs a little", "[workloads]") {
  const Pairs some = pairs(0.5);
  const Pairs more = pairs(0.501);
  // The change of z is 0.001 z1 - 0.0006 z2, at most 0.006 for |z| < 4; times the density (0.4) of
  // the normal law and 1000 tokens.
  for (std::size_t i = 0; i < some.outputs.size(); ++i) {
    CHECK(std::abs(some.outputs[i] - more.outputs[i]) <= 4);
  }
}

TEST_CASE("the copula's draws stay between 0 and 1 at the ends of its own", "[workloads]") {
  const GaussianCopula copula(0.7);
  const double least = 0x1p-53;
  CHECK(copula(least, least) > 0.0);
  CHECK(copula(1.0 - least, 1.0 - least) < 1.0);
  CHECK(copula(0.5, 0.5) == Approx(0.5).epsilon(1e-15));
  CHECK(GaussianCopula(0.0)(0.9, 0.123) == 0.123);
  // z = 0.6 * 1 + 0.8 * 0 for the draws Phi(1) and 1/2; Phi(0.6) = 0.7257468822.
  CHECK(GaussianCopula(0.6)(0.8413447460685429, 0.5) == Approx(0.7257468822499270).epsilon(1e-12));
}

TEST_CASE("the same seed gives the same pairs, on every machine", "[workloads]") {
  Digest d;
  for (const std::int32_t tokens : pairs(0.8).outputs) d.add(tokens);
  CHECK(d.hex() == "8b94b4abb2dfd63657f9a3a1c2736f5e");
}

TEST_CASE("a correlation beyond -1 .. 1 is refused", "[workloads]") {
  const auto refuses = [](double correlation, const char* value) {
    CHECK_THROWS_MATCHES(
        GaussianCopula(correlation), ConfigError,
        Catch::Message(std::string("lengths: the correlation is ") + value + "; allowed: -1 .. 1"));
  };
  refuses(1.5, "1.5");
  refuses(-1.5, "-1.5");
  refuses(std::numeric_limits<double>::quiet_NaN(), "nan");
}

}  // namespace headroom::paired_lengths_test
