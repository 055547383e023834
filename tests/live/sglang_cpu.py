"""What SGLang's scheduler needs of a GPU, on a CPU: two kernels of its page allocator.

The allocator's own alloc_extend_naive() says what the first one does.
"""


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

    paged.alloc_extend_kernel = _Kernel(extend)
    paged.alloc_decode_kernel = _Kernel(decode)
    torch.set_num_threads(1)


def set_attention_backend(name):
    """The one whose helpers are written in torch."""
    from sglang.srt.runtime_context import get_flags
    get_flags().attn.backend = name


def no_disaggregation():
    from sglang.srt.disaggregation.utils import DisaggregationMode
    return DisaggregationMode.NULL
