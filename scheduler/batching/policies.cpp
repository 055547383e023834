#include "scheduler/batching/policies.hpp"

#include <algorithm>
#include <array>

#include "scheduler/batching/llamacpp.hpp"
#include "scheduler/batching/orca.hpp"
#include "scheduler/batching/sarathi.hpp"
#include "scheduler/batching/sglang.hpp"
#include "scheduler/batching/static.hpp"
#include "scheduler/batching/tgi.hpp"
#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "scheduler/batching/vllm_v0.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {

std::span<const BatchPolicy* const> batch_policies() {
  static const std::array kPolicies{&vllm_policy(),     &vllm_v0_policy(), &sarathi_policy(),
                                    &trtllm_policy(),   &sglang_policy(),  &tgi_policy(),
                                    &llamacpp_policy(), &orca_policy(),    &static_policy()};
  return kPolicies;
}

bool reads_option(const BatchPolicy& policy, std::string_view option) {
  return std::ranges::find(policy.takes, option) != policy.takes.end();
}

std::vector<std::string_view> policies_that(bool BatchTraits::*trait) {
  std::vector<std::string_view> names;
  for (const BatchPolicy* policy : batch_policies()) {
    if (policy->traits.*trait) names.push_back(policy->name);
  }
  return names;
}

const BatchPolicy& batch_policy(std::string_view name) {
  const auto policies = batch_policies();
  const auto found = std::ranges::find(policies, name, &BatchPolicy::name);
  HEADROOM_CHECK(found != policies.end(), "a batch policy of the table: " + std::string(name));
  return **found;
}

}  // namespace headroom
