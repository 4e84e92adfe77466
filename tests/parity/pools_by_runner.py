"""The pools of releases before 0.5.16, which their ModelRunner sizes itself; pools.py asks.

The runner's own constructor runs up to where it would open the card; then the layers of the stage, the window and the
type of the cache are filled in as its loading would, and its own arithmetic does the rest.
"""
import importlib
import inspect
import types

MIXIN = "sglang.srt.model_executor.model_runner_kv_cache_mixin"


class Opens(Exception):
    """The constructor has come to the card."""


def stops(*args, **kwargs):
    raise Opens


def widths_known(settings, rank, size):
    """Process groups that nobody opened: how wide attention is, and which stage this is."""
    from sglang.srt.layers import dp_attention
    from sglang.srt.model_executor import pool_configurator

    group = types.SimpleNamespace(world_size=size("pp_size"), cpu_group=None, rank_in_group=rank)
    width = size("tp_size") // (size("dp_size") if getattr(settings, "enable_dp_attention", False) else 1) // size("attn_cp_size")
    for module in (importlib.import_module(MIXIN), pool_configurator, dp_attention):
        module.get_world_group = lambda: group
        module.get_attention_tp_size = lambda: width
    return group


def constructed(settings, config, rank, size):
    """The runner of a stage's first tensor rank, up to the card."""
    from sglang.srt.model_executor import model_runner as module

    runner = module.ModelRunner.__new__(module.ModelRunner)
    runner.init_torch_distributed = stops
    if hasattr(module, "_UNSET"):
        runner._linear_attn_registry_cache = module._UNSET  # looked up when it is first asked for
    try:
        runner.__init__(
            model_config=config, mem_fraction_static=settings.mem_fraction_static, gpu_id=0, tp_rank=0,
            tp_size=size("tp_size"), moe_ep_rank=0, moe_ep_size=size("ep_size"), pp_rank=rank, pp_size=size("pp_size"),
            nccl_port=0, server_args=settings)
    except Opens:
        return runner


def window_of(model, config):
    if hasattr(model, "get_attention_sliding_window_size"):
        return model.get_attention_sliding_window_size()
    if config.is_hybrid_swa and config.sliding_window_size is not None:
        return config.sliding_window_size
    return config.attention_chunk_size


def adjust_window_layers(runner, config):
    if hasattr(runner, "adjust_hybrid_swa_layers_for_pp"):
        runner.adjust_hybrid_swa_layers_for_pp()
        return
    here = range(runner.start_layer, runner.end_layer + 1)  # 0.5.11 does so while it loads
    for name in ("full_attention_layer_ids", "swa_attention_layer_ids"):
        setattr(config, name, [i for i in here if i in (getattr(config, name, None) or [])])


def draft_comes_after_pool(settings):
    """Whether the target's pool is sized before the draft is loaded: up to 0.5.13, and in 0.5.14 where the draft reads
    the target's pool."""
    from sglang.srt.model_executor import model_runner

    if not hasattr(model_runner.ModelRunner, "alloc_memory_pool"):
        return True
    from sglang.srt.managers.scheduler import Scheduler

    starts = getattr(Scheduler, "init_model_worker", None)
    by_algorithm = starts is not None and "is_frozen_kv_mtp" in inspect.getsource(starts)
    return by_algorithm and settings.speculative_algorithm == "FROZEN_KV_MTP"


def with_layers(runner, model, config):
    """What `initialize` and `load_model` make of the loaded model."""
    layers = max(config.num_hidden_layers, config.num_attention_layers)
    if config.hf_config.architectures[0] in ("MiMoV2MTP", "Step3p5MTP"):
        layers = 1
    runner.start_layer, runner.end_layer = getattr(model, "start_layer", 0), getattr(model, "end_layer", layers)
    runner.num_effective_layers = runner.end_layer - runner.start_layer
    adjust_window_layers(runner, config)
    runner.num_effective_layers *= max(1, getattr(config.hf_config, "loop_num", 1))
    drafted = config.num_nextn_predict_layers and not runner.spec_algorithm.is_none()
    assert not drafted or runner.num_effective_layers == layers, "stages and a drafting model"
    runner.model, runner.dtype = model, config.dtype
    runner.sliding_window_size = window_of(model, config)
    runner.configure_kv_cache_dtype()
    return runner


def runner_of(settings, config, model, rank, size):
    """Ready to be asked `_resolve_memory_pool_config`; `size` tells the width of a part."""
    group = widths_known(settings, rank, size)
    runner = constructed(settings, config, rank, size)
    runner.pp_group = group
    return with_layers(runner, model, config)
