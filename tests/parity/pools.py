#!/usr/bin/env python3
"""Record how an installed SGLang sizes its pools, for launches that it accepts.

Run by an interpreter that has SGLang; no GPU is needed, and no weights:

  pools.py CASES OUT --models DIR [--jobs N]      rows of tests/parity/pools/<release>.jsonl.gz, in order

A case is a line of JSON as record.py takes it. The release resolves it, reads the model's configuration and sizes the
pools itself. It is told only what a card would tell it: the free memory before and after loading. Row:

  args, model, device, env               the launch
  free, weights, draft                   GiB: free before loading, and taken by the two models
  tokens, window, slots, requests        the pools: tokens, tokens of sliding windows, recurrent states, requests
  error                                  in place of these: what the release raised, and in which function

A launch that the release refuses earlier is left out. Each is asked in a process of its own.
"""
import argparse
import gc
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import sys
import traceback
import types
import zlib

import pools_by_runner
import record
from record import sglang_peer

DRAFT_GIB = 0.25


def resolved(argv):
    from sglang.srt import server_args as module

    settings = module.prepare_server_args(argv)
    if hasattr(settings, "resolve_once"):
        settings.resolve_once()
    settings.check_server_args()
    return settings


def setting(settings, name):
    values = settings.resolved_dict() if hasattr(settings, "resolved_dict") else {}
    return values[name] if name in values else getattr(settings, name, None)


def model_stub(model_config, rank, stages):
    """The model's class without its weights: the layers of this stage, and the window as the class tells it."""
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.distributed.utils import get_pp_indices
    from sglang.srt.model_loader import loader
    from sglang.srt.model_loader.utils import get_model_architecture

    stub = types.SimpleNamespace(config=model_config.hf_config)
    kind = get_model_architecture(model_config)[0]
    if keeps_scheme(kind):
        stub.quant_config = loader._get_quantization_config(model_config, LoadConfig(load_format="dummy"))
    if stages > 1 and "pp_proxy_tensors" not in inspect.signature(kind.forward).parameters:
        raise LookupError("no pipeline stages")
    if any("start_layer" in inspect.getsource(k) for k in kind.__mro__ if k.__module__.startswith("sglang.")):
        stub.start_layer, stub.end_layer = get_pp_indices(model_config.num_hidden_layers, rank, stages)
    if hasattr(kind, "get_attention_sliding_window_size"):
        window = window_of(kind, model_config.hf_config)
        stub.get_attention_sliding_window_size = lambda: window
    return stub


def keeps_scheme(kind):
    """Whether the class keeps the quantisation object that the runner asks for the type of the cache."""
    own = [k.__dict__["__init__"] for k in kind.__mro__ if k.__module__.startswith("sglang.") and "__init__" in k.__dict__]
    return any("self.quant_config =" in inspect.getsource(function) for function in own)


def window_of(kind, config):
    """What the class says of its window; one that asks its language model finds the text configuration there."""
    text = config.get_text_config()
    language = types.SimpleNamespace(get_attention_sliding_window_size=lambda: text.sliding_window - 1)
    instance = types.SimpleNamespace(config=config, text_config=text, language_model=language)
    return kind.get_attention_sliding_window_size(instance)


def memory(settings, device, key):
    """Free memory and what loading takes: another share of the budget for each launch, the same in every run."""
    free = device["memory_mib"] / 1024
    share = 0.05 + zlib.crc32(key.encode()) % 800 / 1000
    drafts = setting(settings, "speculative_algorithm") not in (None, "NGRAM")
    draft = DRAFT_GIB if drafts and not pools_by_runner.draft_comes_after_pool(settings) else 0.0
    weights = round(max(0.01, free * setting(settings, "mem_fraction_static") * share - draft), 4)
    return {"free": free, "weights": weights, "draft": draft}


def told(module, left):
    """The module's one look at the card: what is left after loading."""
    module.get_available_gpu_memory = lambda *args, **kwargs: left
    module.get_device_memory_capacity = lambda *args, **kwargs: None


def least_of(values):
    """Ranks of a pipeline agree on the least; here each is asked alone, then all with that."""
    import torch

    def all_reduce(tensor, *args, **kwargs):
        values.append(int(tensor.item()))
        tensor.fill_(min(values))

    torch.distributed.all_reduce = all_reduce


def suited(function, **given):
    """A call with what this release's function takes of it."""
    takes = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in takes})


def widths(settings):
    """How wide each part is, as releases before 0.5.21 hear it from their process groups."""
    of = lambda name: setting(settings, name) or 1
    tp, replicas = of("tp_size"), of("dp_size")
    attention_dp = replicas if setting(settings, "enable_dp_attention") else 1
    return {
        "tp_size": tp, "pp_size": of("pp_size"), "dp_size": replicas, "attn_cp_size": of("attn_cp_size"),
        "attn_dp_size": attention_dp, "attn_tp_size": tp // attention_dp // of("attn_cp_size"), "moe_ep_size": of("ep_size"),
        "moe_dp_size": of("moe_dp_size"), "moe_tp_size": tp // of("ep_size") // of("moe_dp_size"), "dcp_size": of("dcp_size"),
        "attn_dcp_size": of("dcp_size"), "dcp_enabled": of("dcp_size") > 1}


def published(settings, rank, group):
    """The release's view of its parts, for the first tensor rank of a stage."""
    from sglang.srt import runtime_context as context
    from sglang.srt.mem_cache import kv_cache_configurator as module

    if hasattr(context, "SpawnRanks"):  # since 0.5.21
        ranks = context.SpawnRanks(world_rank=rank * setting(settings, "tp_size"), gpu_id=0)
        context.publish(settings, role="scheduler", ranks=ranks)
        parallel = context.get_parallel()
        group.world_size = parallel.pp_size
        parallel._overrides["world_group"] = group
        return parallel, {}
    if hasattr(context, "publish"):  # since 0.5.17
        context.publish(settings, role="scheduler")
    else:
        from sglang.srt.server_args import set_global_server_args_for_scheduler

        set_global_server_args_for_scheduler(settings)
    parallel, own = context.get_parallel(), widths(settings)
    group.world_size = own["pp_size"]
    parallel._overrides.update(own, tp_rank=0, pp_rank=rank)
    module.get_world_group = lambda: group
    from sglang.srt.distributed import parallel_state_wrapper

    known = parallel_state_wrapper.ParallelState.__annotations__
    state = {name: value for name, value in own.items() if name in known}
    return parallel, {"ps": parallel_state_wrapper.ParallelState.trivial(pp_rank=rank, **state)}


def published_setting(settings, group, name):
    """A setting as the release publishes it to its parts; 0.5.16 and before hand the settings themselves around."""
    try:
        from sglang.srt import runtime_context as context
    except ImportError:  # the oldest have none
        return setting(settings, name)
    return getattr(getattr(context, group)(), name) if hasattr(context, group) else setting(settings, name)


def configurator(settings, rank):
    """The release's own, for the first tensor rank of a stage (since 0.5.16)."""
    from sglang.srt.configs.model_config import AttentionArch, ModelConfig
    from sglang.srt.mem_cache import kv_cache_configurator as module
    from sglang.srt.mem_cache.kv_cache_dtype import configure_kv_cache_dtype
    from sglang.srt.model_executor.model_runner import is_post_capture_kv_active
    from sglang.srt.model_executor.model_runner_components.load_model_utils import resolve_sliding_window_size
    from sglang.srt.model_executor.model_runner_components.spec_aux_hidden_state import resolve_spec_aux_hidden_state_config
    from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

    from sglang.srt.model_executor.model_runner_components import layer_setup

    group = types.SimpleNamespace(cpu_group=None, rank_in_group=rank)
    parallel, state = published(settings, rank, group)
    config = ModelConfig.from_server_args(settings)
    stub = model_stub(config, rank, parallel.pp_size)
    algorithm = SpeculativeAlgorithm.from_string(published_setting(settings, "get_spec", "speculative_algorithm"))
    layers = suited(
        layer_setup.resolve_layer_indices, model=stub, model_config=config, is_draft_worker=False, spec_algorithm=algorithm)
    if hasattr(layer_setup, "adjust_hybrid_swa_layer_ids"):  # up to 0.5.20
        layer_setup.adjust_hybrid_swa_layer_ids(
            model_config=config, start_layer=layers.start_layer, end_layer=layers.end_layer,
            is_hybrid_swa=config.is_hybrid_swa)
    asked_dtype = published_setting(settings, "get_model", "kv_cache_dtype")
    text, kv_dtype = configure_kv_cache_dtype(
        server_args_kv_cache_dtype=asked_dtype, model=stub, model_dtype=config.dtype,
        is_draft_worker=False, is_dflash=algorithm.is_dflash_family(), speculative_draft_attention_backend=None)
    return suited(
        module.KVCacheConfigurator, **state,
        device="xpu", gpu_id=0, attn_dp_size=parallel.attn_dp_size, pp_size=parallel.pp_size, pp_group=group, model=stub,
        model_config=config, server_args=settings, kv_cache_dtype=kv_dtype, model_dtype=config.dtype,
        kv_cache_dtype_str=text if text is not None else asked_dtype,
        page_size=published_setting(settings, "get_schedule", "page_size"), sliding_window_size=resolve_sliding_window_size(stub, config),
        spec_algorithm=algorithm, is_draft_worker=False,
        post_capture_kv_active=suited(
            is_post_capture_kv_active, server_args=settings, is_draft_worker=False, spec_algorithm=algorithm,
            token_to_kv_pool_allocator=None),
        spec_aux_config=resolve_spec_aux_hidden_state_config(
            server_args=settings, model_config=config, spec_algorithm=algorithm, is_draft_worker=False),
        is_hybrid_swa=config.is_hybrid_swa, is_hybrid_swa_compress=config.is_hybrid_swa_compress,
        use_mla_backend=config.attention_arch == AttentionArch.MLA,
        layer_info=layers,
        forward_stream=None, req_to_token_pool=None, token_to_kv_pool_allocator=None, memory_pool_config=None)


def asked_of(settings, rank):
    """Who sizes the pools in this release, for the first tensor rank of a stage."""
    if importlib.util.find_spec("sglang.srt.mem_cache.kv_cache_configurator"):
        return configurator(settings, rank)
    from sglang.srt.configs.model_config import ModelConfig

    config = ModelConfig.from_server_args(settings)
    size = lambda name: setting(settings, name) or 1
    return pools_by_runner.runner_of(settings, config, model_stub(config, rank, size("pp_size")), rank, size)


def module_that_looks():
    name = "sglang.srt.mem_cache.kv_cache_configurator"
    return importlib.import_module(name if importlib.util.find_spec(name) else pools_by_runner.MIXIN)


def sized(settings, given):
    """The pools, or what the release raised while it sized them; None where its model is none to serve."""
    offloaded = min(given["weights"], max(0, setting(settings, "cpu_offload_gb") or 0))
    told(module_that_looks(), given["free"] - given["weights"] - given["draft"] + offloaded)
    least_of([])
    stages = setting(settings, "pp_size")
    for rank in [*range(stages), 0] if stages > 1 else [0]:
        try:
            asked = asked_of(settings, rank)
        except BaseException:
            return None
        try:
            config = asked._resolve_memory_pool_config(given["free"])
        except BaseException as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "/sglang/" in f.filename]
            return {"error": [type(error).__name__, frames[-1].name if frames else None]}
    return {"tokens": config.max_total_num_tokens, "window": config.swa_max_total_num_tokens if asked.is_hybrid_swa else None,
            "slots": published_setting(settings, "get_schedule", "max_mamba_cache_size") if asked.mambaish_config else None,
            "requests": config.max_running_requests}


def answer(case, models):
    os.environ.update({k: str(v) for k, v in (case.get("env") or {}).items()})
    device = {**record.DEVICE, **(case.get("device") or {})}
    sglang_peer.describe_device(device)
    model = os.path.join(models, case.get("model") or "")
    try:
        settings = resolved([a.replace("{models}", models).replace("{model}", model) for a in case["args"]])
        if setting(settings, "device") != "xpu" or setting(settings, "enable_lora"):
            return None  # adapters take room of their own first: adapter_pools.py
    except BaseException:  # refused, and that is recorded elsewhere
        return None
    row = {k: case[k] for k in ("id", "args", "model", "device", "env") if case.get(k)}
    row.update(memory(settings, device, case["id"]))
    pools = sized(settings, row)
    return pools and {**row, **{k: v for k, v in pools.items() if v is not None}}


def asked_in_turn(answer, cases, models, jobs):
    """Rows in the order of the cases, where there is something to record."""
    running = []

    def take():
        case, child, reader = running.pop(0)
        text = reader.read()
        os.waitpid(child, 0)
        if not text:
            print("no answer:", case["id"], file=sys.stderr)
        return text and json.loads(text)

    for case in cases:
        running.append((case, *record.in_child(lambda case=case: answer(case, models))))
        if len(running) >= jobs and (row := take()):
            yield row
    while running:
        if row := take():
            yield row


def main(answer, description):
    """Writes what `answer` says of each case."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if any(os.environ.get(k) != v for k, v in record.HOST.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **record.HOST})
    sglang_peer.hide_packages()
    sglang_peer.describe_device(record.DEVICE)
    import sglang.srt.model_loader.loader  # noqa: F401  all is imported once, before the forks
    from sglang.srt.models.registry import ModelRegistry

    assert ModelRegistry.models

    gc.freeze()  # a child that collects would copy all that was imported
    gc.collect = lambda *generation: 0

    cases = [json.loads(line) for line in given.cases.read_text(encoding="utf-8").splitlines() if line]
    with open(given.out, "w", encoding="utf-8", buffering=1) as out:
        for row in asked_in_turn(answer, cases, str(given.models.resolve()), given.jobs):
            out.write(json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(answer, __doc__)
