"""The same decode attention in PyTorch, to stand beside kernels_bench: python3 tests/bench/torch_bench.py [--device cuda]

Rows are contiguous here and paged in our kernels. Each shape is timed in the forms a PyTorch user would write: its fused
attention, and two matrix products with a softmax between; the faster counts. On a CPU, where the machine may be shared,
processor time is given too, divided by the cores (see tests/bench/device_peaks.h).
"""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F

LATENT, ROPE = 512, 64


def two_products(q, k, v, scale):  # q [B, KVH, G, D], k [B, KVH, L, D]
    scores = torch.matmul(q, k.transpose(-1, -2)).float() * scale
    return torch.matmul(torch.softmax(scores, -1).to(v.dtype), v)


def fused(q, k, v, scale):
    batch, kv_heads, group, dim = q.shape
    out = F.scaled_dot_product_attention(q.reshape(batch, kv_heads * group, 1, dim), k, v, scale=scale, enable_gqa=True)
    return out.reshape(batch, kv_heads, group, v.shape[-1])


def fused_rows(q, k, v, scale):  # the group as rows of one head: each key is read once
    return F.scaled_dot_product_attention(q, k, v, scale=scale)


def time_of(run, device, repeat):
    wall, busy = [], []
    for _ in range(2 if device == "cuda" else 1):
        run()
    for _ in range(repeat):
        if device == "cuda":
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            stop.record()
            torch.cuda.synchronize()
            wall.append(start.elapsed_time(stop) * 1e-3)
        else:
            start, processor = time.perf_counter(), time.process_time()
            run()
            wall.append(time.perf_counter() - start)
            busy.append((time.process_time() - processor) / torch.get_num_threads())
    return statistics.median(wall), statistics.median(busy) if busy else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--mla-batch", type=int)
    parser.add_argument("--gqa-batch", type=int)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--only", default="", help="mla_decode or paged_decode")
    args = parser.parse_args()
    on_cpu = args.device == "cpu"
    print("torch", torch.__version__, "on", args.device, args.dtype)
    mla = args.mla_batch or (1 if on_cpu else 32)
    gqa = args.gqa_batch or (8 if on_cpu else 32)
    shapes = [("mla_decode", 16, mla, 1, 16, LATENT + ROPE, LATENT), ("mla_decode", 128, mla, 1, 128, LATENT + ROPE, LATENT),
              ("paged_decode", 32, gqa, 8, 4, 128, 128)]
    for name, heads, batch, kv_heads, group, dim, value_dim in shapes:
        if not name.startswith(args.only):
            continue
        options = dict(dtype=getattr(torch, args.dtype), device=args.device)
        q = torch.randn(batch, kv_heads, group, dim, **options)
        k = torch.randn(batch, kv_heads, args.length, dim, **options)
        v = k[..., :value_dim] if name == "mla_decode" else torch.randn(batch, kv_heads, args.length, dim, **options)
        flops = 2.0 * batch * heads * args.length * (dim + value_dim)
        moved = 2.0 * batch * kv_heads * args.length * (dim if name == "mla_decode" else dim + value_dim)
        for form in (fused, fused_rows, two_products):
            try:
                wall, busy = time_of(lambda: form(q, k, v, dim**-0.5), args.device, args.repeat)
            except RuntimeError as error:
                print(f"{name} H{heads} B{batch} L{args.length} {form.__name__}: {str(error).splitlines()[0][:90]}")
                continue
            print(f"{name} H{heads} B{batch} L{args.length} {form.__name__}: {wall * 1e6:.0f} us"
                  + (f" (processors {busy * 1e6:.0f} us)" if busy else "")
                  + f", {flops / wall / 1e9:.0f} GFLOP/s, {moved / wall / 1e9:.0f} GB/s")


if __name__ == "__main__":
    main()
