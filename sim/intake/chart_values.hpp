#pragma once
// Values of Helm charts: vLLM's production stack
// (https://github.com/vllm-project/production-stack, helm/values.schema.json) and llm-d's
// modelservice (https://github.com/llm-d-incubation/llm-d-modelservice,
// charts/llm-d-modelservice/values.yaml).

#include <optional>
#include <string>
#include <vector>

#include "sim/intake/deployed_part.hpp"

namespace headroom {

// What the stack's router calls a policy; empty: it has no such policy.
[[nodiscard]] std::string_view stack_routing(std::string_view policy);

[[nodiscard]] bool holds_stack_values(const Json& values);
[[nodiscard]] bool holds_modelservice_values(const Json& values);

// A model of the values: its name there.
struct StackPart {
  std::string model;
  DeployedPart part;
};
// `router`: the policy that the values name; empty: none that is modelled.
[[nodiscard]] std::vector<StackPart> parts_of_stack(const Json& values, const std::string& name,
                                                    const std::string& release,
                                                    std::string& router);
[[nodiscard]] std::vector<DeployedPart> parts_of_modelservice(const Json& values,
                                                              const std::string& name,
                                                              const std::string& release);

}  // namespace headroom
