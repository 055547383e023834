"""Drives SGLang's own scheduler, radix cache and allocators, with a stand-in for the model runner.

The loops are Scheduler.event_loop_normal() and event_loop_overlap() themselves. What they call to
reach other processes or a GPU is replaced: where requests come from, run_batch(), and statistics.
"""

import dataclasses
from array import array

import sglang_cpu

sglang_cpu.install()

import torch  # noqa: E402
from sglang.srt.managers.schedule_batch import Req  # noqa: E402
from sglang.srt.managers.scheduler import Scheduler  # noqa: E402
from sglang.srt.managers.utils import GenerationBatchResult  # noqa: E402
from sglang.srt.mem_cache.allocator import (  # noqa: E402
    PagedTokenToKVPoolAllocator,
    TokenToKVPoolAllocator,
)
from sglang.srt.mem_cache.cache_init_params import CacheInitParams  # noqa: E402
from sglang.srt.mem_cache.memory_pool import ReqToTokenPool  # noqa: E402
from sglang.srt.sampling.sampling_params import SamplingParams  # noqa: E402
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm  # noqa: E402

END = 1  # the token that ends an answer
VOCABULARY = 1 << 40
LONGEST_PLAY = 20000  # loops


class Quiet:
    """What nobody asks anything: its methods do nothing, and say "no"."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def _options(s):
    """As a start-up would have resolved them."""
    return dict(
        device="cpu", attention_backend="torch_native", page_size=s.page_size,
        chunked_prefill_size=s.chunked_prefill_size, max_prefill_tokens=s.max_prefill_tokens,
        max_running_requests=s.max_running_requests, schedule_policy=s.schedule_policy,
        pp_max_micro_batch_size=s.max_running_requests,
        schedule_conservativeness=s.schedule_conservativeness,
        enable_mixed_chunk=s.mixed_chunk, disable_radix_cache=not s.radix_cache,
        disable_overlap_schedule=not s.overlap)


class Driver(Scheduler):
    """A scheduler without its start-up; its steps are those of traces.py."""

    def __init__(self, s):
        self.s = s
        self.now = 0
        self.end = 0  # of the last step in flight
        self.ends = []  # of those in flight, in order
        self.next_request = 0
        self.loops = 0
        self.idle_loops = 0
        self.steps = []
        self.entered = set()  # who is in the batch, or computed in part
        self.retracted = []
        self._set_options(s)
        self._make_cache(s)
        self._make_parts()

    def __getattr__(self, name):
        # Only what was not set is looked up here: features that are off.
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def _set_options(self, s):
        self.server_args = sglang_cpu.publish(_options(s))
        self.schedule_policy = s.schedule_policy
        self.enable_overlap = s.overlap
        self.page_size = s.page_size
        self.max_running_requests = s.max_running_requests
        self.max_prefill_tokens = s.max_prefill_tokens
        self.max_total_num_tokens = s.max_total_tokens
        # tp_worker.py, get_worker_info.
        self.max_req_len = min(s.context_length - 1, s.max_total_tokens - 1)
        self.is_generation = True
        self.spec_algorithm = SpeculativeAlgorithm.from_string(None)
        self.model_config = Quiet(vocab_size=VOCABULARY, is_encoder_decoder=False,
                                  is_multimodal=False, think_end_id=None, think_end_ids=None,
                                  self_opened_think_start_ids=None, hf_config=Quiet())
        self.chunked_prefill_size = s.chunked_prefill_size if s.chunked_prefill_size > 0 else None
        self.is_mixed_chunk = s.mixed_chunk and self.chunked_prefill_size is not None
        self.disaggregation_mode = sglang_cpu.no_disaggregation()
        self.priority_scheduling_preemption_threshold = 0
        self.max_prefill_bs = 0
        self._prefill_decode_interval_remaining = self.prefill_decode_interval = 0
        self.kv_shard_widening = 1

    def _make_cache(self, s):
        kv = Quiet()
        if s.page_size == 1:
            self.token_to_kv_pool_allocator = TokenToKVPoolAllocator(
                s.max_total_tokens, torch.float16, "cpu", kv, False)
        else:
            self.token_to_kv_pool_allocator = PagedTokenToKVPoolAllocator(
                s.max_total_tokens, s.page_size, torch.float16, "cpu", kv, False)
        self.req_to_token_pool = ReqToTokenPool(
            s.max_running_requests, s.context_length + 8, "cpu", False)
        params = CacheInitParams(
            disable=not s.radix_cache, req_to_token_pool=self.req_to_token_pool,
            token_to_kv_pool_allocator=self.token_to_kv_pool_allocator, page_size=s.page_size,
            chunked_prefill_size=self.chunked_prefill_size)
        self.tree_cache = sglang_cpu.make_cache(params)

    def _make_parts(self):
        self.grammar_manager = Quiet(grammar_queue=[])
        self.dllm_manager = Quiet()
        self.metrics_reporter = Quiet(num_generated_tokens=0, forward_ct_decode=0,
                                      enable_metrics=False)
        self.output_streamer = Quiet()
        self.load_inquirer = Quiet(_get_num_pending_tokens=lambda **kwargs: 0)
        self.ipc_channels = Quiet(send_to_tokenizer=Quiet())
        self.tp_worker = Quiet(model_runner=Quiet(prefill_aware_swa=False))
        self.dp_attn_adapter = Quiet(
            maybe_prepare_mlp_sync_batch=lambda batch, need_sync=None: batch,
            maybe_convert_decode_to_extend=lambda batch: batch)
        self.ps = Quiet(pp_size=1)
        self.ngram_embedding_manager = Quiet(
            prepare_for_forward=lambda batch, **kwargs: batch)
        self.load_publisher = Quiet()
        self.request_receiver = Quiet(recv_requests=self.arrivals)
        self.init_running_status()
        self.chunked_req = None
        self.init_schedule_policy()
        self.init_batch_result_processor()

    # What the loops call.

    def arrivals(self, local_reqs=()):
        self.loops += 1
        if self.loops > LONGEST_PLAY:
            raise RuntimeError("too many steps")
        due = []
        requests = self.s.requests
        while self.next_request < len(requests) and requests[self.next_request][0] <= self.now:
            due.append(self.next_request)
            self.next_request += 1
        return due

    def process_input_requests(self, recv_reqs):
        for index in recv_reqs:
            req = make_request(self.s, index)
            self.init_req_max_new_tokens(req)
            self._add_request_to_queue(req)

    def get_next_batch_to_run(self, **batches):
        self.retracted = []
        planned = super().get_next_batch_to_run(**batches)
        # Since 0.5.20 with the batch that goes on running.
        batch = planned.batch_to_run if batches else planned
        rows = sorted(_rows(batch)) if batch else []
        self.entered -= set(self.retracted)
        admitted = sorted({row[0] for row in rows} - self.entered)
        self.entered.update(admitted)
        if rows or self.retracted:
            self.steps.append([self.now, rows, admitted, sorted(self.retracted),
                               self.free_pages()])
        return planned

    def update_running_batch(self, batch):
        retract_decode = batch.retract_decode

        def watched(*args):
            before = list(batch.reqs)
            result = retract_decode(*args)
            left = set(map(id, before)) - set(map(id, batch.reqs))
            self.retracted = [int(req.rid) for req in before if id(req) in left]
            return result

        batch.retract_decode = watched
        try:
            return super().update_running_batch(batch)
        finally:
            del batch.retract_decode

    def run_batch(self, batch, pp_proxy_tensors=None):
        self.idle_loops = 0
        self.forward_ct += 1
        batch.forward_iter = self.forward_ct
        self.end = max(self.end, self.now) + 1
        self.ends.append(self.end)
        return GenerationBatchResult(
            logits_output=None, next_token_ids=torch.zeros(len(batch.reqs), dtype=torch.int64))

    def process_batch_result(self, batch, result):
        """The step ends now; its tokens are those that follow what each request has."""
        self.now = max(self.now, self.ends.pop(0))
        result.next_token_ids = torch.tensor([self.sampled(req) for req in batch.reqs])
        super().process_batch_result(batch, result)
        for req in batch.reqs:
            if req.finished():
                self.entered.discard(int(req.rid))

    def sampled(self, req):
        index = int(req.rid)
        length = self.s.requests[index][2]
        if len(req.output_ids) + 1 == length:
            return END
        return 2 * 10 ** 9 + 10 ** 6 * index + len(req.output_ids)

    def on_idle(self):
        """The time jumps to the next arrival, unless the engine is about to admit somebody."""
        self.idle_loops += 1
        if self.is_fully_idle():
            self.new_token_ratio_tracker.reset()
        elif self.idle_loops <= 2:
            return
        if self.next_request < len(self.s.requests):
            self.now = max(self.now, self.s.requests[self.next_request][0])
        elif self.waiting_queue:
            raise RuntimeError("the engine makes no progress")
        else:
            self.gracefully_exit = True

    def publish_load_snapshot(self, force=False):
        pass

    def _record_step_counters(self, batch, result):
        pass

    def _poll_timeout_aborts(self):
        return []

    def maybe_send_health_check_signal(self):
        pass

    def _abort_on_waiting_timeout(self):
        pass

    def _abort_on_running_timeout(self):
        pass

    def free_pages(self):
        """With those that the cache would give up."""
        tokens = self.token_to_kv_pool_allocator.available_size() + self.tree_cache.evictable_size()
        return tokens // self.page_size


def _rows(batch):
    decoding = set()
    if batch.forward_mode.is_decode():
        decoding = set(map(id, batch.reqs))
    elif batch.decoding_reqs:
        decoding = set(map(id, batch.decoding_reqs))
    for req in batch.reqs:
        if id(req) in decoding:
            yield [int(req.rid), getattr(req, "kv", req).kv_committed_len - 1, 1]
        elif hasattr(req, "extend_range"):
            yield [int(req.rid), req.extend_range.start, req.extend_range.length]
        else:  # since 0.5.20
            yield [int(req.rid), req.prefix_len, req.extend_len]


def make_request(s, index):
    _, prompt, _, limit, pieces = s.requests[index]
    tokens = [10 ** 6 * piece + place for piece, length in pieces for place in range(length)]
    tokens += [10 ** 9 + 10 ** 6 * index + place for place in range(len(tokens), prompt)]
    sampling = SamplingParams(max_new_tokens=limit, stop_token_ids=[END], temperature=0.0)
    sampling.normalize(None)
    return Req(str(index), "", array("q", tokens), sampling, vocab_size=VOCABULARY)


def play(s):
    driver = Driver(s)
    if s.overlap:
        driver.event_loop_overlap()
    else:
        driver.event_loop_normal()
    return driver.steps
