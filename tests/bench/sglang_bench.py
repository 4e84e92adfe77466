"""SGLang's own Triton decode attention, to stand beside kernels_bench: python3 tests/bench/sglang_bench.py

Wants a GPU and an interpreter with torch, triton and SGLang's sources (PYTHONPATH may name them). The kernel is found and
given its tables as src/kernels/peer/ask_kernels.py does it for the judge; timed is the kernel and its merge of splits, for the
number of splits that SGLang chooses, and the best number.
"""
import importlib.util
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTH, PAGE = 4096, 64
# Name, requests, query heads, KV heads, dims of keys, dims of values.
SHAPES = [("grouped, 32 query and 8 KV heads", 64, 32, 8, 128, 128), ("all heads their own, 32", 16, 32, 32, 128, 128),
          ("latent, 16 heads", 128, 16, 1, 576, 512), ("latent, 128 heads", 64, 128, 1, 576, 512)]


def load_peer():
    spec = importlib.util.spec_from_file_location("ask_kernels", ROOT / "src/kernels/peer/ask_kernels.py")
    peer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    return peer


def median_us(torch, run, times=20):
    for _ in range(3):
        run()
    spans = []
    for _ in range(times):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        torch.cuda.synchronize()
        spans.append(start.elapsed_time(stop) * 1e3)
    return statistics.median(spans)


def time_shape(peer, room, shape):
    name, requests, heads, kv_heads, dim, value_dim = shape
    torch, is_latent = room.torch, value_dim < dim
    kernel = room.sglang.function("decode_attention_fwd")
    names = kernel.__code__.co_varnames[:kernel.__code__.co_argcount]
    kind = {"dtype": torch.bfloat16, "device": room.device}
    q = torch.randn(requests, heads, dim, **kind)
    keys = torch.randn(requests * LENGTH, kv_heads, dim, **kind)
    values = keys[..., :value_dim] if is_latent else torch.randn(requests * LENGTH, kv_heads, value_dim, **kind)
    out = torch.empty(requests, heads, value_dim, **kind)
    lengths = torch.full((requests,), LENGTH, dtype=torch.int32, device=room.device)
    pages = torch.randperm(requests * LENGTH // PAGE, device=room.device).view(requests, -1)
    indptr, indices = peer.indices_of(room, peer.token_slots(room, pages, lengths, PAGE), lengths)
    more = {key: value for key, value in (("has_mla", is_latent), ("page_size", PAGE)) if key in names}

    def with_splits(splits, most):
        partial = torch.empty(requests, heads, most, value_dim, dtype=torch.float32, device=room.device)
        sums = torch.empty(requests, heads, most, dtype=torch.float32, device=room.device)
        return median_us(torch, lambda: kernel(q, keys, values, out, indptr, indices, partial, sums, splits, most, dim**-0.5,
                                               1.0, 1.0, logit_cap=0.0, sinks=None, **more))

    chosen = peer.splits_of(room, lengths, heads, kv_heads)
    own = with_splits(chosen, peer.MOST_SPLITS)
    best = min((with_splits(torch.full_like(chosen, n), n), n) for n in (1, 2, 3, 4, 6, 8, 16))
    print(f"{name}, {requests} requests: {own:.0f} us with its {int(chosen[0])} splits, {best[0]:.0f} us with {best[1]}",
          flush=True)


def main():
    peer = load_peer()
    try:
        room = peer.Room({"from": "python"})
    except peer.Unusable as reason:
        print(f"NOT RUN: {reason}")
        return 0
    if room.device != "cuda":
        print("NOT RUN: times want a GPU that SGLang's Triton kernels are compiled for")
        return 0
    print(f"SGLang {room.sglang.version}, Triton {room.triton.__version__}, {room.device_name}; bf16, {LENGTH} tokens a request")
    for shape in SHAPES:
        try:
            time_shape(peer, room, shape)
        except Exception as error:  # of a kernel that is missing or refuses
            print(f"{shape[0]}: {type(error).__name__}: {error}"[:200], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
