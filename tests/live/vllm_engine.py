"""Drives vLLM's own scheduler and KV manager, with a stand-in for the model runner.

Only what the package exports is called: Scheduler.add_request(), schedule() and
update_from_output(), as EngineCore does (vllm/v1/engine/core.py, step and step_with_batch_queue).
"""

import inspect
from collections import deque

import missing_modules
from scenario import layers

missing_modules.install("vllm")

import torch  # noqa: E402
from vllm.config import SchedulerConfig  # noqa: E402
from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.utils.hashing import sha256  # noqa: E402
from vllm.v1.core import kv_cache_utils  # noqa: E402
from vllm.v1.core.sched.async_scheduler import AsyncScheduler  # noqa: E402
from vllm.v1.core.sched.scheduler import Scheduler  # noqa: E402
from vllm.v1.kv_cache_interface import (  # noqa: E402
    FullAttentionSpec,
    KVCacheConfig,
    SlidingWindowSpec,
)
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput  # noqa: E402
from vllm.v1.request import Request  # noqa: E402

try:
    from vllm.v1.core import kv_cache_planning as kv_planning
except ImportError:  # before 0.33
    kv_planning = kv_cache_utils

END = 1  # the token that ends an answer
kv_cache_utils.init_none_hash(sha256)


class Settings:
    """What the engine was started with; everything else is not set."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def _accepted(function, **values):
    """Of `values`, what this release's function takes."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in values.items() if name in parameters}


def _scheduler_config(s):
    values = dict(
        max_model_len=s.max_model_len, is_encoder_decoder=False, max_num_seqs=s.max_num_seqs,
        max_num_batched_tokens=s.max_num_batched_tokens, policy=s.policy,
        enable_chunked_prefill=s.chunked_prefill, async_scheduling=s.asynchronous,
        long_prefill_token_threshold=s.long_prefill_token_threshold,
        scheduler_reserve_full_isl=s.reserve_full_isl,
    )
    return SchedulerConfig(**values)


def _layers(s):
    shape = dict(block_size=s.block_size, num_kv_heads=8, head_size=64, dtype=torch.float16)
    return {
        f"layer.{i}": SlidingWindowSpec(sliding_window=window, **shape) if window
        else FullAttentionSpec(**shape)
        for i, window in enumerate(layers(s))
    }


def _vllm_config(s, scheduler_config):
    speculative = None
    if s.drafts:
        speculative = Settings(
            num_speculative_tokens=s.drafts, use_eagle=lambda: False,
            uses_draft_model=lambda: False, use_dflash=lambda: False,
            use_eagle_block_drop=lambda: False, needs_eagle_block_drop=lambda: False,
            max_num_new_slots_for_drafting=0)
    steps = 2 if s.asynchronous else 1
    return Settings(
        scheduler_config=scheduler_config,
        cache_config=Settings(enable_prefix_caching=s.prefix_caching, num_gpu_blocks=s.blocks,
                              block_size=s.block_size, mamba_cache_mode="none",
                              get_resolved_kv_cache_layout=lambda: Settings(
                                  is_block_outermost=False)),
        parallel_config=Settings(pipeline_parallel_size=1, data_parallel_size=1,
                                 data_parallel_index=0, decode_context_parallel_size=1,
                                 prefill_context_parallel_size=1),
        model_config=Settings(max_model_len=s.max_model_len, runner_type="generate"),
        observability_config=Settings(), aux_output_config=Settings(enabled=False),
        ec_manager_config=Settings(get_encoder_cache_manager_obj=lambda: None),
        speculative_config=speculative, num_speculative_tokens=s.drafts, num_lookahead_tokens=0,
        num_prefill_lookahead_tokens=0, num_hash_lookahead_tokens=0,
        max_concurrent_batches=steps,
        max_in_flight_tokens=steps * s.max_num_batched_tokens,
    )


def make_scheduler(s):
    scheduler_config = _scheduler_config(s)
    config = _vllm_config(s, scheduler_config)
    groups = kv_planning.get_kv_cache_groups(config, _layers(s))
    kv = KVCacheConfig(num_blocks=s.blocks, kv_cache_tensors=[], kv_cache_groups=groups)
    make = AsyncScheduler if s.asynchronous else Scheduler
    return make(**_accepted(
        Scheduler.__init__, vllm_config=config, kv_cache_config=kv,
        structured_output_manager=Settings(should_advance=lambda request: False,
                                           accept_tokens=lambda request, tokens: True,
                                           validate_tokens=lambda request, tokens: tokens),
        block_size=s.block_size, hash_block_size=s.block_size,
        mm_registry=Settings(supports_multimodal_inputs=lambda model: False)))


def make_request(s, index, hasher):
    arrival, prompt, _, limit, priority, pieces = s.requests[index]
    tokens = [10 ** 6 * piece + place for piece, length in pieces for place in range(length)]
    tokens += [10 ** 9 + 10 ** 6 * index + place for place in range(len(tokens), prompt)]
    sampling = SamplingParams(max_tokens=limit, stop_token_ids=[END], temperature=0.0)
    return Request(**_accepted(
        Request.__init__, request_id=str(index), prompt_token_ids=tokens,
        sampling_params=sampling, pooling_params=None, eos_token_id=None,
        arrival_time=float(arrival) + index * 1e-6, priority=priority, block_hasher=hasher))


class Run:
    """One scenario; its steps are those of traces.py."""

    def __init__(self, s):
        self.s = s
        self.scheduler = make_scheduler(s)
        self.hasher = kv_cache_utils.get_request_block_hasher(s.block_size, sha256)
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.steps = []
        self.requests = {}

    def play(self, most_steps=20000):
        s, depth = self.s, 2 if self.s.asynchronous else 1
        now, next_request, flight = 0, 0, deque()
        ends = 0  # of the last step in flight
        for _ in range(most_steps):
            while next_request < len(s.requests) and s.requests[next_request][0] <= now:
                request = make_request(s, next_request, self.hasher)
                self.requests[request.request_id] = request
                self.scheduler.add_request(request)
                next_request += 1
            planned = None
            if self.scheduler.has_unfinished_requests():
                planned = self.plan(now)
            if planned is not None:
                ends = max(ends, now) + 1
                flight.append((ends, planned))
                if len(flight) < depth:
                    continue
            if flight:
                now, step = flight.popleft()
                self.end(step)
                continue
            if next_request == len(s.requests):
                if self.scheduler.has_unfinished_requests():
                    raise RuntimeError("the engine makes no progress")
                return self.steps
            if planned is None and now >= s.requests[next_request][0]:
                raise RuntimeError("the engine makes no progress")
            now = s.requests[next_request][0]
        raise RuntimeError("too many steps")

    def plan(self, now):
        running = {request.request_id for request in self.scheduler.running}
        output = self.scheduler.schedule()
        after = {request.request_id for request in self.scheduler.running}
        rows = sorted(
            [int(name), self.requests[name].num_computed_tokens - tokens, tokens]
            for name, tokens in output.num_scheduled_tokens.items())
        preempted = sorted(int(name) for name in running - after)
        if rows or preempted:
            admitted = sorted(int(name) for name in after - running)
            self.steps.append([now, rows, admitted, preempted, self.pool.get_num_free_blocks()])
        if not rows:
            return None
        # Who samples in this step: its tokens end with the last one known.
        samples = {
            name for name in output.num_scheduled_tokens
            if self.requests[name].num_computed_tokens >= self.requests[name].num_tokens}
        return output, samples

    def end(self, step):
        output, samples = step
        names = list(output.num_scheduled_tokens)
        tokens = []
        for name in names:
            drafts = output.scheduled_spec_decode_tokens.get(name, [])
            accepted = min(self.s.accepted, len(drafts))
            tokens.append(self.sampled(name, 1 + accepted) if name in samples else [])
        result = ModelRunnerOutput(**_accepted(
            ModelRunnerOutput, req_ids=names, req_id_to_index={n: i for i, n in enumerate(names)},
            sampled_token_ids=tokens, logprobs=None, prompt_logprobs_dict={}, pooler_output=[]))
        self.scheduler.update_from_output(output, result)
        for name in names:
            request = self.requests.get(name)
            if request is not None and request.is_finished():
                del self.requests[name]
        if self.s.drafts:
            drafting = [n for n in names if n in samples and n in self.requests]
            self.scheduler.update_draft_token_ids(
                DraftTokenIds(drafting, [[7] * self.s.drafts for _ in drafting]))

    def sampled(self, name, count):
        """The next tokens of an answer, ended where it ends; an answer that has ended goes on."""
        request = self.requests.get(name)
        if request is None:
            return [5]
        out, length = request.num_output_tokens, self.s.requests[int(name)][2]
        private = 2 * 10 ** 9 + 10 ** 6 * int(name) + out
        tokens = [private + i for i in range(count)]
        if out < length <= out + count:
            tokens[length - 1 - out] = END
        return tokens


def play(s):
    return Run(s).play()
