#!/usr/bin/env python3
"""Record how large an installed SGLang makes the buffers of adapters (LoRA); no GPU is needed, and no memory.

  adapter_pools.py CASES OUT --models DIR      rows of tests/data/adapter_pools.txt, in order

A case is a line "MODEL TP ATTENTION_TP SLOTS RANK MODULES": a model below DIR, the width of all ranks and of attention,
--max-loras-per-batch, the largest rank, and the fused names of the modules with commas between. The row has the release
before it, and after it the bytes that the release's own LoRAMemoryPool makes on the first rank of a model whose class
leaves the widths to it.
"""
import argparse
import inspect
import pathlib

import torch


def head(config, tp):
    """The output head, cut as the release cuts it; None where it is the table."""
    from sglang.srt.layers import vocab_parallel_embedding as module

    if getattr(config, "tie_word_embeddings", False):
        return None
    made = module.ParallelLMHead.__new__(module.ParallelLMHead)
    torch.nn.Module.__init__(made)
    padded = module.pad_vocab_size(config.vocab_size, module.DEFAULT_VOCAB_PADDING_SIZE)
    made.shard_indices = module.VocabParallelEmbedding._get_indices(padded, padded, config.vocab_size, config.vocab_size, 0, tp)
    return made


def base_model(config, tp):
    model = torch.nn.Module()
    model.config = config
    model.weight = torch.nn.Parameter(torch.empty(1, device="meta"))
    model.lm_head = head(config, tp)
    return model


def parallel(tp, attention_tp):
    """The widths, where the release asks a context for them."""
    try:
        from sglang.srt.runtime_context import get_parallel
    except ImportError:
        return
    widths = {"tp_size": tp, "tp_rank": 0, "attn_tp_size": attention_tp, "attn_tp_rank": 0, "moe_ep_size": 1, "moe_ep_rank": 0,
              "moe_tp_size": tp, "moe_tp_rank": 0}
    get_parallel()._overrides.update(widths)


def bytes_of(config, tp, attention_tp, slots, rank, modules):
    from sglang.srt.lora.mem_pool import LoRAMemoryPool

    parallel(tp, attention_tp)
    given = {"base_hf_config": config, "max_loras_per_batch": slots, "dtype": config.dtype or torch.bfloat16, "tp_size": tp,
             "tp_rank": 0, "attn_tp_size": attention_tp, "max_lora_rank": rank, "target_modules": set(modules),
             "base_model": base_model(config, tp), "eviction_policy": "lru", "lora_added_tokens_size": 0}
    takes = inspect.signature(LoRAMemoryPool.__init__).parameters
    pool = LoRAMemoryPool(**{k: v for k, v in given.items() if k in takes})
    buffers = [b for name, kept in vars(pool).items() if name.endswith("_buffer") for b in kept.values()]
    tensors = [t for b in buffers for t in (b if isinstance(b, list) else [b])]
    return sum(t.numel() * t.element_size() for t in tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    given = parser.parse_args()
    import sglang
    from transformers import AutoConfig

    with open(given.out, "w", encoding="utf-8") as out:
        for line in given.cases.read_text(encoding="utf-8").splitlines():
            model, *numbers, modules = line.split()
            config = AutoConfig.from_pretrained(given.models / model)
            made = bytes_of(config, *map(int, numbers), modules.split(","))
            out.write(f"{sglang.__version__} {line} {made}\n")


if __name__ == "__main__":
    main()
