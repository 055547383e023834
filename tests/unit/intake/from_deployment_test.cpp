// scenario_from_deployment and scenario_from_units: objects as people write them by hand.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "hardware/catalog.hpp"
#include "sim/intake/from.hpp"
#include "sim/intake/gpu_products.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::from_deployment_test {
namespace {

FromResult from_text(const std::string& text) {
  CHECK(holds_deployment(text));
  return scenario_from_deployment({{"a.yaml", text}});
}

}  // namespace

TEST_CASE("a Deployment gives model, flags, release, device and replicas") {
  const FromResult read = from_text(R"(apiVersion: v1
kind: Service
metadata: {name: chat}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
      volumes:
        - {name: shm, emptyDir: {medium: Memory, sizeLimit: 2Gi}}
      containers:
        - name: proxy
          image: nginx
        - name: vllm
          image: vllm/vllm-openai:v0.19.1
          command: ["/bin/sh", "-c"]
          args: ["vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 --port 8000"]
          env:
            - {name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: "1"}
            - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
          resources: {limits: {nvidia.com/gpu: "1", memory: 64Gi}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
)");
  CHECK(read.scenario["model"] == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(read.scenario["device"] == "l40s");
  CHECK(read.scenario["engine"]["version"] == "0.19.1");
  CHECK(read.scenario["engine"]["max_model_len"] == 8192);
  CHECK(read.scenario["engine"]["allow_long_max_model_len"] == true);
  CHECK(read.scenario["environment"]["shm_size_gib"] == 2);
  CHECK(read.scenario["environment"]["memory_limit_gib"] == 64);
  CHECK(read.scenario["fleet"] == Json{{"replicas", 3}});
  CHECK(read.unknown_flags.empty());
}

TEST_CASE("what a cluster scales, and shared memory that a pod lacks, is said") {
  const std::string pod = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - image: vllm/vllm-openai:v0.19.1
          args: ["--model", "Qwen/Qwen3-8B", "--tensor-parallel-size", "2"]
)";
  const FromResult read = from_text(pod + R"(---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat-scaler}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 2
  maxReplicas: 6
)");
  const auto says = [](const FromResult& result, std::string_view text) {
    return std::ranges::any_of(result.notes, [text](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  };
  CHECK(says(read, "the HorizontalPodAutoscaler chat-scaler is left out"));
  CHECK(says(read, "no volume is mounted at /dev/shm"));
  CHECK_FALSE(says(read, "Docker"));
  CHECK_FALSE(says(from_text(pod), "HorizontalPodAutoscaler"));
}

TEST_CASE("Deployments of unlike pods are groups of one fleet") {
  const FromResult read = from_text(R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: small}
spec:
  replicas: 2
  template: {spec: {containers: [{image: "vllm/vllm-openai:v0.19.0", args: [--model, a/small,
    --max-num-seqs, "64"]}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: large}
spec:
  template: {spec: {containers: [{image: "vllm/vllm-openai:v0.19.0", args: [--model, a/large,
    --max-num-seqs, "64", -tp, "4"]}]}}
)");
  const Json& groups = read.scenario["fleet"]["groups"];
  REQUIRE(groups.size() == 2);
  CHECK(read.scenario["model"] == "a/small");
  CHECK(read.scenario["engine"] ==
        Json{{"name", "vllm"}, {"version", "0.19.0"}, {"max_num_seqs", 64}});
  CHECK(groups[0]["count"] == 2);
  CHECK(groups[1]["model"] == "a/large");
  CHECK(groups[1]["engine"] == Json{{"tensor_parallel_size", 4}});
}

TEST_CASE("values of the production stack have what the chart adds to the flags") {
  const FromResult read = from_text(R"(servingEngineSpec:
  modelSpec:
    - name: llama
      repository: vllm/vllm-openai
      tag: v0.19.0
      modelURL: meta-llama/Llama-3.1-8B-Instruct
      replicaCount: 2
      requestCPU: 6
      requestMemory: 16Gi
      requestGPU: 2
      vllmConfig:
        maxModelLen: 4096
        tensorParallelSize: 2
        extraArgs: ["--max-num-seqs", "32"]
routerSpec:
  routingLogic: roundrobin
)");
  const Json& engine = read.scenario["engine"];
  CHECK(engine["max_model_len"] == 4096);
  CHECK(engine["tensor_parallel_size"] == 2);
  CHECK(engine["max_num_seqs"] == 32);
  // The chart's template turns it off where the values do not say it.
  CHECK(engine["enable_prefix_caching"] == false);
  CHECK(read.scenario["environment"]["shm_size_gib"] == 20);
  CHECK(read.scenario["fleet"]["replicas"] == 2);
  CHECK(read.scenario["fleet"]["router"]["policy"] == "round_robin");
}

TEST_CASE("a DynamoGraphDeployment gives roles, and its frontend the router") {
  const FromResult read = from_text(R"(apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: apart}
spec:
  components:
  - name: Frontend
    type: frontend
    podTemplate: {spec: {containers: [{name: main, env: [{name: DYN_ROUTER_MODE, value: kv}]}]}}
  - name: VllmDecodeWorker
    type: decode
    replicas: 2
    podTemplate: {spec: {containers: [{name: main, command: [python3, -m, dynamo.vllm],
      args: [--model, Qwen/Qwen3-0.6B, --disaggregation-mode, decode]}]}}
  - name: VllmPrefillWorker
    type: prefill
    podTemplate: {spec: {containers: [{name: main, command: [python3, -m, dynamo.vllm],
      args: [--model, Qwen/Qwen3-0.6B, --disaggregation-mode, prefill]}]}}
)");
  const Json& fleet = read.scenario["fleet"];
  CHECK(fleet["groups"][0]["role"] == "decode");
  CHECK(fleet["groups"][0]["count"] == 2);
  CHECK(fleet["groups"][1]["role"] == "prefill");
  CHECK(fleet["router"]["policy"] == "weighted");
  CHECK(read.unknown_flags.empty());
}

TEST_CASE("units of systemd that are alike are replicas") {
  const std::string unit = R"([Service]
# devices of this one
Environment="CUDA_VISIBLE_DEVICES=0,1" VLLM_ALLOW_LONG_MAX_MODEL_LEN=1
ExecStart=/usr/bin/env vllm serve a/b \
  --max-num-seqs 32 -tp 2
X-Headroom-Device=l40s
)";
  CHECK(holds_unit(unit));
  const FromResult read = scenario_from_units({{"a.service", unit}, {"b.service", unit}});
  CHECK(read.scenario["model"] == "a/b");
  CHECK(read.scenario["device"] == "l40s");
  CHECK(read.scenario["engine"]["max_num_seqs"] == 32);
  CHECK(read.scenario["engine"]["allow_long_max_model_len"] == true);
  CHECK(read.scenario["fleet"]["replicas"] == 2);
}

TEST_CASE("objects that start no engine are refused") {
  CHECK_THROWS_AS(scenario_from_deployment({{"a.yaml", "apiVersion: v1\nkind: Service\n"}}),
                  ConfigError);
  CHECK_THROWS_AS(scenario_from_units({{"a.service", "[Service]\nExecStart=/bin/true\n"}}),
                  ConfigError);
}

TEST_CASE("every product is the device that it stands for") {
  const Catalog catalog = Catalog::embedded();
  int known = 0;
  for (const std::string& id : catalog.device_ids()) {
    const std::string_view product = gpu_product(id);
    if (product.empty()) continue;
    ++known;
    CHECK(device_of_product(product) == id);
    CHECK(device_of_product(std::string(product) + "-SHARED") == id);
  }
  CHECK(known >= 18);
  CHECK(device_of_product("NVIDIA-GeForce-RTX-5080") == "NVIDIA-GeForce-RTX-5080");
}

}  // namespace headroom::from_deployment_test
