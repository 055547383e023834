"""What SGLang's scheduler needs of a GPU, on a CPU: two kernels of its page allocator.

The allocator's own alloc_extend_naive() says what the first one does.
"""


import dataclasses


def _import_paged():
    from sglang.srt.mem_cache.allocator import paged
    return paged


class _Kernel:
    """Is called like a Triton kernel: kernel[grid](arguments)."""

    def __init__(self, function):
        self._function = function

    def __getitem__(self, grid):
        return self._function


def install():
    import torch
    paged = _import_paged()

    def extend(prefix_lens, seq_lens, last_loc, free_pages, out_indices, _, page_size):
        last_pages = (seq_lens + page_size - 1) // page_size
        first_pages = (prefix_lens + page_size - 1) // page_size
        if int((last_pages - first_pages).sum()) > len(free_pages):
            return  # alloc_extend() finds that, too, and says so
        paged.alloc_extend_naive(prefix_lens, seq_lens, last_loc, free_pages, out_indices,
                                 page_size, "cpu")

    def decode(seq_lens, last_loc, free_pages, out_indices, _, page_size):
        new = (seq_lens - 1) % page_size == 0
        if int(new.sum()) > len(free_pages):
            return
        out_indices.copy_(last_loc + 1)
        out_indices[new] = free_pages[: int(new.sum())] * page_size

    if not hasattr(paged, "alloc_extend_kernel"):
        return
    paged.alloc_extend_kernel = _Kernel(extend)
    paged.alloc_decode_kernel = _Kernel(decode)
    torch.set_num_threads(1)


def _defaults(cls):
    """The options of a release, without what a start-up reads from a model and a GPU."""
    args = object.__new__(cls)
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            value = None
        object.__setattr__(args, field.name, value)
    return args


def publish(options):
    """Makes them the process's options. The attention backend's helpers are written in torch."""
    from sglang.srt import runtime_context, server_args
    if dataclasses.is_dataclass(server_args.ServerArgs):
        args = _defaults(server_args.ServerArgs)
        for name, value in options.items():
            object.__setattr__(args, name, value)
        server_args.set_global_server_args_for_scheduler(args)
        runtime_context.get_flags().attn.backend = args.attention_backend
        return args
    args = server_args.ServerArgs(model_path="none", **options)
    runtime_context.get_context().set_server_args(args)
    ranks = {name: 0 for name in ("pp_rank", "attn_tp_rank", "attn_cp_rank", "tp_rank", "dp_rank")}
    runtime_context.get_parallel().override_permanently(**ranks)
    return args


def make_cache(params):
    """As mem_cache/registry.py, default_radix_cache_factory, chooses it."""
    try:
        from sglang.srt.mem_cache.chunk_cache import ChunkCache
    except ImportError:  # since 0.5.21
        from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
        from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
        params.tree_components = (ComponentType.FULL,)
        params.tree_core_backend = "python"  # the other needs its own torch
        return UnifiedRadixCache(params)
    from sglang.srt.mem_cache.radix_cache import RadixCache
    chunks_only = params.disable and params.chunked_prefill_size is not None
    return (ChunkCache if chunks_only else RadixCache)(params)


def no_disaggregation():
    from sglang.srt.disaggregation.utils import DisaggregationMode
    return DisaggregationMode.NULL
