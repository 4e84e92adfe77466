#!/usr/bin/env python3
"""Record what the classes of an installed SGLang allocate for a model's parameters on a rank.

Run by an interpreter that has SGLang (0.5.23); no GPU is needed, and no weights:

  weights.py CASES OUT --models DIR [--jobs N]      rows of tests/parity/weights/<release>.jsonl.gz, in order

A case is a line of JSON as record.py takes it. The release resolves it and builds its own class for the first tensor rank
of every pipeline stage, of tensors without storage. Row:

  args, model, env      the launch
  bytes                 of the parameters, by stage
  error                 in place of them: what the class raised, and in which function

A launch that the release refuses earlier is left out. Each is asked in a process of its own.
"""
import os
import traceback

import pools
import record
from pools import resolved, setting
from record import sglang_peer


class Group:
    """A process group of which only the size and the place in it are asked."""

    def __init__(self, size, rank):
        self.world_size, self.rank_in_group = size, rank
        self.is_first_rank, self.is_last_rank = rank == 0, rank == size - 1
        self.ranks, self.rank, self.local_rank = list(range(size)), rank, rank
        self.device_group = self.cpu_group = None


def place(settings, stage):
    """This process as the first tensor rank of a stage."""
    from sglang.srt import runtime_context as context
    from sglang.srt.layers import dp_attention
    from sglang.srt.layers.moe.utils import initialize_moe_config

    context.publish(settings, role="scheduler", ranks=context.SpawnRanks(world_rank=stage * setting(settings, "tp_size"), gpu_id=0))
    parallel = context.get_parallel()
    for name in context._derived_widths():
        if name.endswith("_group"):
            size = parallel.tp_size * parallel.pp_size if name == "world_group" else getattr(parallel, f"{name[:-6]}_size", 1)
            parallel._overrides[name] = Group(size or 1, stage if name == "pp_group" else 0)
    dp_attention.initialize_dp_attention_flags(settings)
    initialize_moe_config()  # what exchanges tokens, which shared experts ask


def without_storage():
    """Tensors of shapes alone, whatever device is named; what a constructor reads at once stays real."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function is torch.linspace:
                kwargs["device"] = "cpu"
            elif str(kwargs.get("device", "")).startswith(("xpu", "cuda")):
                kwargs["device"] = "meta"
            return function(*args, **kwargs)

    return Mode()


def built(settings, stage):
    import torch
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.configs.model_config import ModelConfig
    from sglang.srt.model_loader import loader

    place(settings, stage)
    config = ModelConfig.from_server_args(settings)
    load = LoadConfig(load_format="dummy")
    torch.set_default_dtype(config.dtype)
    with torch.device("meta"), without_storage():
        return loader._initialize_model(config, load, loader._get_quantization_config(config, load))


def answer(case, models):
    os.environ.update({k: str(v) for k, v in (case.get("env") or {}).items()})
    sglang_peer.describe_device({**record.DEVICE, **(case.get("device") or {})})
    import torch

    torch.xpu.Stream = torch.xpu.Event = type("Stream", (), {"__init__": lambda self, *args, **kwargs: None})
    torch.xpu.current_stream, torch.get_device_module = lambda *args: torch.xpu.Stream(), lambda *args: torch.xpu
    model = os.path.join(models, case.get("model") or "")
    try:
        settings = resolved([a.replace("{models}", models).replace("{model}", model) for a in case["args"]])
    except BaseException:  # refused, and that is recorded elsewhere
        return None
    row = {k: case[k] for k in ("id", "args", "model", "env") if case.get(k)}
    try:
        row["bytes"] = [sum(p.numel() * p.element_size() for p in built(settings, stage).parameters())
                        for stage in range(setting(settings, "pp_size"))]
    except BaseException as error:
        row["error"] = [type(error).__name__, traceback.extract_tb(error.__traceback__)[-1].name]
    return row


if __name__ == "__main__":
    pools.main(answer, __doc__)
