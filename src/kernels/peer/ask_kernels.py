"""Run the kernels of an installed SGLang, or PyTorch's own attention, on sample batches that are given as files.

Runs inside the Python environment that holds them. Reads JSON objects from standard input, a line each, and answers each
with a line on descriptor 3:

  {"from": "python" | "torch"}       -> {"ready": {"device", "device_name", "interpreted", "types", "versions": {...}}}
  {"kernel", "backend", "case": {...}, "inputs": [{"name", "dtype", "shape", "file"}], "outputs": [the same]}
                                     -> {"outputs": [names of the files written], "function", "imported", "notes",
                                         "broken": [outputs around which something was written]}
                                      | {"skipped": reason} | {"error": what was raised}
  or {"unusable": reason} to any of them, and it ends.

Nothing is judged here. Outputs start as NaN (UNWRITTEN in integers), between guard bands.
"""
import sys

# With -c Python looks into the current directory first: a json.py that lies there is none of ours.
sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]

import contextlib
import ctypes
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import traceback
import types

TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2",
         "int32": "int32", "int64": "int64"}
# Of Triton's interpreter: its arithmetic is NumPy's, which has neither bfloat16 nor fp8.
INTERPRETED_TYPES = ["fp16", "fp32", "int32", "int64"]
GUARD = 4096  # elements on either side of an output
UNWRITTEN = -1515870811  # kUnwrittenIndex of batch.h

# Where a function lies, from which release on (the third number of 0.5.x).
OLD, NEW = "sglang.srt.layers.attention.triton_ops.", "sglang.kernels.ops.attention."
PLACES = {
    "decode_attention_fwd": ((11, OLD + "decode_attention"), (16, NEW + "decode_attention")),
    "merge_state_triton": ((11, OLD + "merge_state"), (16, NEW + "merge_state")),
    "get_num_kv_splits_triton": ((11, "sglang.srt.layers.attention.triton_backend"), (13, OLD + "metadata"),
                                 (16, NEW + "metadata")),
    "create_flashinfer_kv_indices_triton": ((11, "sglang.srt.layers.attention.utils"), (13, OLD + "kv_indices"),
                                            (16, "sglang.kernels.ops.kvcache.kv_indices"), (23, NEW + "kv_indices")),
    # The form for Intel GPUs, where a release has one.
    "fused_sigmoid_gating_delta_rule_update": (
        (11, "sglang.srt.layers.attention.fla.fused_sigmoid_gating_recurrent"),
        (13, "sglang.srt.hardware_backend.xpu.kernels.fla.fused_sigmoid_gating_recurrent")),
    "fused_recurrent_gated_delta_rule_packed_decode": ((11, "sglang.srt.layers.attention.fla.fused_recurrent"),
                                                       (16, NEW + "fla.fused_recurrent")),
    "make_local_attention_virtual_batches": ((11, "sglang.srt.layers.attention.flashattention_backend"),
                                             (22, "sglang.srt.layers.attention.local_attention")),
    "causal_conv1d_update": ((11, "sglang.srt.layers.attention.mamba.causal_conv1d_triton"),
                             (16, "sglang.kernels.ops.mamba.causal_conv1d_triton")),
    "causal_conv1d_fn": ((11, "sglang.srt.layers.attention.mamba.causal_conv1d_triton"),
                         (16, "sglang.kernels.ops.mamba.causal_conv1d_triton")),
    "chunk_gated_delta_rule": ((11, "sglang.srt.layers.attention.fla.chunk"), (16, NEW + "fla.chunk")),
}
# --triton-attention-num-kv-splits where nobody gives it.
MOST_SPLITS = 8


class Unusable(Exception):
    """This environment cannot run anything, with the reason."""


class Skipped(Exception):
    """This case cannot be run here, with the reason."""


class Lacking(Skipped):
    """It cannot be run because the environment does not hold the kernel."""


class Installed:
    """An SGLang package whose kernels are imported without its __init__, which wants the whole server."""

    def __init__(self, interpreted):
        self.interpreted = interpreted
        spec = importlib.util.find_spec("sglang")
        if spec is None or not spec.submodule_search_locations:
            raise Unusable(f"no sglang package in {sys.executable}")
        self.folder = list(spec.submodule_search_locations)[0]
        self.version = self.read_version()
        numbers = re.findall(r"\d+", self.version)
        self.minor = int(numbers[2]) if numbers[:2] == ["0", "5"] and len(numbers) > 2 else 0
        package = types.ModuleType("sglang")
        package.__path__, package.__spec__, package.__file__ = [self.folder], spec, spec.origin
        package.__version__ = self.version
        sys.modules["sglang"] = package

    def read_version(self):
        try:
            with open(os.path.join(self.folder, "_version.py"), encoding="utf-8") as file:
                found = re.search(r"^(?:__version__|version)\b.*?['\"](\d+\.\d+\.\d+[^'\"]*)['\"]", file.read(), re.M)
            if found:
                return found.group(1)
        except OSError:
            pass
        try:
            return importlib.metadata.version("sglang")
        except importlib.metadata.PackageNotFoundError:
            raise Unusable(f"the sglang in {self.folder} does not say its release") from None

    def function(self, name):
        places = [module for since, module in PLACES[name] if since <= self.minor]
        if not places:
            raise Skipped(f"{name} is not known in SGLang {self.version}")
        try:
            with named_late() if self.interpreted else contextlib.nullcontext():
                module = importlib.import_module(places[-1])
        except Exception as error:  # some packages raise what they like where something is missing
            raise Lacking(f"{places[-1]} cannot be imported: {type(error).__name__}: {error}") from None
        if not hasattr(module, name):
            raise Lacking(f"SGLang {self.version} has no {name} in {places[-1]}")
        return getattr(module, name)


@contextlib.contextmanager
def named_late():
    """While modules are imported, functions of Triton's language that they give another name are looked up when they are
    called: its interpreter puts its own in their places then, and a name from before would not see them."""
    import triton.language as tl

    names = ("exp", "exp2", "log", "log2")
    homes = [(home, name, getattr(home, name)) for home in (tl, tl.math) for name in names if hasattr(home, name)]
    for home, name, _ in homes:
        setattr(home, name, lambda x, home=home, name=name: getattr(home, name)(x))
    try:
        yield
    finally:
        for home, name, own in homes:
            setattr(home, name, own)


def choose_device(torch, interpretable):
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return "xpu", torch.xpu.get_device_name(0), False
    if torch.cuda.is_available():
        return "cuda", torch.cuda.get_device_name(0), False
    return "cpu", platform.processor() or platform.machine(), interpretable


class Room:
    """What every op needs: torch, the device, the package."""

    def __init__(self, request):
        self.sglang = None
        try:
            import torch
        except ImportError as error:
            raise Unusable(f"no torch in {sys.executable}: {error}") from None
        self.torch, self.versions = torch, {"python": platform.python_version(), "torch": torch.__version__}
        self.device, self.device_name, self.interpreted = choose_device(torch, request["from"] == "python")
        if request["from"] == "torch":
            return
        if self.interpreted:
            os.environ["TRITON_INTERPRET"] = "1"
            if not hasattr(torch.cpu, "device"):  # what SGLang's delta kernels ask every device for
                torch.cpu.device = lambda index: contextlib.nullcontext()
        try:
            import triton
        except ImportError as error:
            raise Unusable(f"no triton in {sys.executable}: {error}") from None
        if self.interpreted:  # there is nothing to time configurations on: the first is taken
            tune = triton.autotune
            triton.autotune = lambda configs, *args, **more: tune(configs[:1], *args, **more)
        self.sglang = Installed(self.interpreted)
        self.triton, self.next_power = triton, triton.next_power_of_2
        self.versions.update(triton=triton.__version__, sglang=self.sglang.version)

    def ready(self):
        kinds = INTERPRETED_TYPES if self.interpreted else list(TYPES)
        return {"ready": {"device": self.device, "device_name": self.device_name, "interpreted": self.interpreted,
                          "types": kinds, "versions": self.versions}}

    def type_of(self, name):
        return getattr(self.torch, TYPES[name])

    def read(self, spec):
        count = 1
        for extent in spec["shape"]:
            count *= extent
        kind = self.type_of(spec["dtype"])
        with open(spec["file"], "rb") as file:
            data = bytearray(file.read())
        if count == 0:
            return self.torch.empty(spec["shape"], dtype=kind, device=self.device)
        return self.torch.frombuffer(data, dtype=kind).reshape(spec["shape"]).to(self.device)

    def poisoned(self, shape, kind):
        value = float("nan") if kind.is_floating_point else UNWRITTEN
        return self.torch.full(shape, value, dtype=kind, device=self.device)

    def synchronize(self):
        if self.device != "cpu":
            getattr(self.torch, self.device).synchronize()


class Outputs:
    """Poisoned tensors between guard bands, by name."""

    def __init__(self, room, specs):
        self.room, self.specs, self.whole, self.written = room, specs, {}, []

    def make(self, name):
        spec = next(s for s in self.specs if s["name"] == name)
        count = 1
        for extent in spec["shape"]:
            count *= extent
        self.whole[name] = self.room.poisoned((count + 2 * GUARD,), self.room.type_of(spec["dtype"]))
        return self.whole[name][GUARD:GUARD + count].view(spec["shape"])

    def keep(self, name, tensor):
        """Writes what was computed, in the type that was asked for."""
        spec = next(s for s in self.specs if s["name"] == name)
        tensor = tensor.detach().to(self.room.type_of(spec["dtype"])).contiguous().cpu()
        with open(spec["file"], "wb") as file:
            file.write(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
        self.written.append(name)

    def broken(self):
        out = []
        for name, whole in self.whole.items():
            bands = self.room.torch.cat((whole[:GUARD], whole[-GUARD:]))
            intact = bands.isnan() if bands.is_floating_point() else bands == UNWRITTEN
            if not bool(intact.all()):
                out.append(name)
        return out


def token_slots(room, table, lengths, page):
    """req_to_token as SGLang holds it: the slot of each token; what no token has is 0, a slot that nobody owns."""
    torch = room.torch
    longest = max(int(lengths.max()), 1)
    tokens = torch.arange(longest, device=room.device)
    owned = tokens[None, :] < lengths[:, None].long()
    pages = table.long()[:, (tokens // page).clamp(max=table.shape[1] - 1)]
    return torch.where(owned, pages * page + tokens % page, torch.zeros_like(pages)).to(torch.int32)


def indices_of(room, slots, lengths, starts=None):
    """kv_indptr and kv_indices, by SGLang's own kernel, as its Triton backend asks for them."""
    torch = room.torch
    fill = room.sglang.function("create_flashinfer_kv_indices_triton")
    requests = lengths.shape[0]
    indptr = torch.zeros(requests + 1, dtype=torch.int32, device=room.device)
    indptr[1:] = torch.cumsum(lengths, dim=0)
    indices = torch.zeros(max(int(indptr[-1]), 1), dtype=torch.int64, device=room.device)
    rows = torch.arange(requests, dtype=torch.int64, device=room.device)
    fill[(requests,)](slots, rows, lengths, indptr, starts, indices, slots.stride(0))
    return indptr, indices


def splits_of(room, lengths, heads, kv_heads):
    """As SGLang's Triton backend chooses them: by the device's cores, and the most there may be where it knows none."""
    torch = room.torch
    splits = torch.full((lengths.shape[0],), MOST_SPLITS, dtype=torch.int32, device=room.device)
    cores = 0
    if room.device == "cuda":
        cores = torch.cuda.get_device_properties(0).multi_processor_count
    elif room.device == "xpu":
        cores = torch.xpu.get_device_properties(0).gpu_eu_count
    if cores > 0:
        choose = room.sglang.function("get_num_kv_splits_triton")
        schedule = 256 if lengths.shape[0] < 256 else room.next_power(lengths.shape[0])
        choose[(1,)](splits, lengths, lengths.shape[0], 1, heads, kv_heads, MOST_SPLITS, cores, MAX_NUM_SEQ=schedule)
    return splits


def decode(room, case, q, keys, values, table, lengths, sinks, outputs, mla):
    torch, run = room.torch, room.sglang.function("decode_attention_fwd")
    names = run.__code__.co_varnames[:run.__code__.co_argcount]
    slots = token_slots(room, table, lengths, case["page"])
    notes, starts, seen = [], None, lengths
    if case["window"] >= 0:
        seen = torch.minimum(lengths, torch.tensor(case["window"] + 1, dtype=lengths.dtype, device=room.device))
        starts = lengths - seen
    indptr, indices = indices_of(room, slots, seen, starts)
    splits = splits_of(room, seen, q.shape[1], keys.shape[1])
    notes.append("KV splits " + ",".join(str(int(n)) for n in splits))
    out = outputs.make("out")
    partial = room.poisoned((q.shape[0], q.shape[1], MOST_SPLITS, values.shape[-1]), torch.float32)
    sums = room.poisoned((q.shape[0], q.shape[1], MOST_SPLITS), torch.float32)
    more = {name: value for name, value in (("has_mla", mla), ("page_size", case["page"])) if name in names}
    run(q, keys, values, out, indptr, indices, partial, sums, splits, MOST_SPLITS, case["scale"], case["k_scale"],
        case["v_scale"], logit_cap=case["softcap"], sinks=sinks, **more)
    outputs.keep("out", out)
    return run, notes


def paged_decode(room, case, inputs, outputs):
    keys, values = (inputs[name].flatten(0, 1) for name in ("k_cache", "v_cache"))
    return decode(room, case, inputs["q"], keys, values, inputs["page_table"], inputs["cache_seqlens"],
                  inputs.get("sinks"), outputs, False)


def mla_decode(room, case, inputs, outputs):
    q = room.torch.cat((inputs["q_nope"], inputs["q_rope"]), dim=-1)
    cache = inputs["kv_cache"].flatten(0, 1).unsqueeze(1)
    return decode(room, case, q, cache, cache[..., :case["latent"]], inputs["page_table"], inputs["cache_seqlens"], None,
                  outputs, True)


def merge_state(room, case, inputs, outputs):
    run = room.sglang.function("merge_state_triton")
    out, lse = outputs.make("out"), outputs.make("lse")
    run(inputs["v_a"], inputs["s_a"], inputs["v_b"], inputs["s_b"], out, lse)
    outputs.keep("out", out)
    outputs.keep("lse", lse)
    return run, []


def kv_indices(room, case, inputs, outputs):
    """The builder of token indices; the request's ends are summed up by the backend, outside of any kernel."""
    torch, fill = room.torch, room.sglang.function("create_flashinfer_kv_indices_triton")
    lengths = inputs["cache_seqlens"]
    indptr = torch.zeros(lengths.shape[0] + 1, dtype=torch.int32, device=room.device)
    indptr[1:] = torch.cumsum(lengths, dim=0)
    indices, slots = outputs.make("kv_indices"), inputs["req_to_token"]
    fill[(lengths.shape[0],)](slots, inputs["req_pool_indices"], lengths, indptr, None, indices, slots.stride(0))
    outputs.keep("kv_indices", indices)
    return fill, []


def local_tables(room, case, inputs, outputs):
    """Lengths and tables of the virtual batches, asked for as the backend for Intel GPUs does: it does not ask that the chunk
    be kept. Computed on the host, whatever the device."""
    torch, build = room.torch, room.sglang.function("make_local_attention_virtual_batches")
    lengths, table = inputs["cache_seqlens"].cpu(), inputs["block_table"].cpu()
    if bool((lengths == 0).any()):
        raise Skipped("SGLang's server has no request without tokens")
    starts = torch.arange(lengths.shape[0] + 1, dtype=torch.int32)
    _, _, seen, built = build(case["chunk"], starts.numpy(), lengths.numpy(), table, case["page"])
    seen = torch.from_numpy(seen)
    outputs.keep("local_seqlens", seen)
    # A chunk that was cut has fewer columns. Those that nobody follows are taken from the request's own pages.
    columns = torch.arange(case["chunk"] // case["page"])
    first = (lengths - seen)[:, None] // case["page"]
    wide = torch.gather(table, 1, (first + columns).clamp(max=table.shape[1] - 1))
    wide[:, :built.shape[1]] = built[:, :wide.shape[1]]
    outputs.keep("local_page_table", wide)
    return build, []


def packed_decode(room, case, inputs, outputs):
    run = room.sglang.function("fused_recurrent_gated_delta_rule_packed_decode")
    if bool((inputs["state_indices"] < 0).any()):
        raise Skipped("SGLang's decode writes zeros for a padded request, which nobody reads")
    torch, state, tokens = room.torch, inputs["state"], inputs["q"].shape[0]
    packed = torch.cat([inputs[name].reshape(tokens, -1) for name in ("q", "k", "v")], dim=-1)
    heads, width = inputs["v"].shape[1:]
    out = torch.empty((tokens, 1, heads, width), dtype=packed.dtype, device=room.device)
    run(mixed_qkv=packed, a=inputs["a"], b=inputs["b"], A_log=inputs["a_log"], dt_bias=inputs["dt_bias"],
        scale=case["scale"], initial_state=state, out=out, ssm_state_indices=inputs["state_indices"],
        use_qk_l2norm_in_kernel=case["l2norm"])
    outputs.keep("o", out[:, 0])
    outputs.keep("state", state)
    return run, []


def delta_verification(room, case, inputs, outputs):
    run = room.sglang.function("fused_sigmoid_gating_delta_rule_update")
    state = inputs["state"]
    out = run(A_log=inputs["a_log"], a=inputs["a"], dt_bias=inputs["dt_bias"], softplus_beta=1.0, softplus_threshold=20.0,
              q=inputs["q"][None], k=inputs["k"][None], v=inputs["v"][None], b=inputs["b"], initial_state_source=state,
              initial_state_indices=inputs["state_indices"], scale=case["scale"],
              use_qk_l2norm_in_kernel=case["l2norm"], cu_seqlens=inputs["cu_seqlens"])
    outputs.keep("o", out[0])
    outputs.keep("state", state)
    return run, []


def gated_delta_chunk(room, case, inputs, outputs):
    if case["chunk_size"] != 64:
        raise Skipped("SGLang's chunks are of 64 tokens")
    run = room.sglang.function("chunk_gated_delta_rule")
    state = inputs["state"]
    out = run(q=inputs["q"][None], k=inputs["k"][None], v=inputs["v"][None], g=inputs["g"][None],
              beta=inputs["beta"][None], scale=case["scale"], initial_state=state,
              initial_state_indices=inputs["state_indices"], cu_seqlens=inputs["cu_seqlens"].long(), head_first=False,
              use_qk_l2norm_in_kernel=case["l2norm"])
    outputs.keep("o", out[0][0])
    outputs.keep("state", state)
    return run, []


def causal_conv1d(room, case, inputs, outputs):
    """A token of requests that have a state is decode, anything else prefill: SGLang has a kernel for each. Rows of padded
    requests are not written by either, whatever the buffer held."""
    torch, state, starts = room.torch, inputs["state"], inputs["cu_seqlens"]
    lengths, known = starts[1:] - starts[:-1], inputs["has_state"] != 0
    if bool((lengths == 1).all()) and bool(known.all()):
        run = room.sglang.function("causal_conv1d_update")
        out = run(inputs["x"], state, inputs["weight"], inputs["bias"], "silu", conv_state_indices=inputs["state_indices"])
    else:
        if bool((lengths == 0).any()):
            raise Skipped("SGLang's prefill has no request without new tokens")
        run = room.sglang.function("causal_conv1d_fn")
        out = run(inputs["x"].transpose(0, 1), inputs["weight"], inputs["bias"], activation="silu", conv_states=state,
                  has_initial_state=known, cache_indices=inputs["state_indices"], query_start_loc=starts,
                  seq_lens_cpu=lengths.tolist()).transpose(0, 1)
    written = torch.repeat_interleave(inputs["state_indices"] >= 0, lengths.long())
    y = outputs.make("y")
    y[written] = out[written]
    outputs.keep("y", y)
    outputs.keep("state", state)
    return run, []


def padded_table(room, table, page):
    """flash_mla_decode asserts that the width of its table is a multiple of 128 / page; SGLang pads it so."""
    columns = -(-table.shape[1] // max(1, 128 // page)) * max(1, 128 // page)
    wide = room.torch.zeros((table.shape[0], columns), dtype=table.dtype, device=room.device)
    wide[:, :table.shape[1]] = room.torch.where(table < 2**30, table, room.torch.zeros_like(table))
    return wide


def intel_paged_decode(room, case, inputs, outputs):
    from sgl_kernel.flash_attn import flash_attn_with_kvcache as run

    torch, lengths = room.torch, inputs["cache_seqlens"]
    if case["softcap"] > 0:
        raise Skipped("flash_attn_with_kvcache accepts a softcap on Intel GPUs and ignores it")
    starts = torch.arange(lengths.shape[0] + 1, dtype=torch.int32, device=room.device)
    out = run(q=inputs["q"], k_cache=inputs["k_cache"], v_cache=inputs["v_cache"],
              page_table=padded_table(room, inputs["page_table"], 128), cache_seqlens=lengths, cu_seqlens_q=starts,
              max_seqlen_q=1, softmax_scale=case["scale"], causal=True, sinks=inputs.get("sinks"),
              window_size=(case["window"], 0) if case["window"] >= 0 else (-1, -1))
    outputs.keep("out", out.view(inputs["q"].shape[0], inputs["q"].shape[1], -1))
    return run, []


def intel_mla_decode(room, case, inputs, outputs):
    from sgl_kernel.attention import flash_mla_decode as run

    table = padded_table(room, inputs["page_table"], case["page"])
    workspace = room.torch.empty(0, dtype=room.torch.uint8, device=room.device)
    outputs.keep("out", run(inputs["q_nope"], inputs["q_rope"], inputs["kv_cache"], inputs["cache_seqlens"], table, workspace,
                            case["scale"]))
    return run, []


def intel_merge_state(room, case, inputs, outputs):
    from sgl_kernel.attention import merge_state_v2 as run

    out, lse = outputs.make("out"), outputs.make("lse")
    run(inputs["v_a"], inputs["s_a"], inputs["v_b"], inputs["s_b"], out, lse)
    outputs.keep("out", out)
    outputs.keep("lse", lse)
    return run, []


INTEL_RUNS = {"paged_decode": intel_paged_decode, "mla_decode": intel_mla_decode, "merge_state": intel_merge_state}


def attend_by_torch(room, case, inputs, outputs):
    """scaled_dot_product_attention, request by request, over rows gathered from the pages."""
    torch, sdpa = room.torch, room.torch.nn.functional.scaled_dot_product_attention
    if case["softcap"] > 0 or case["sinks"]:
        raise Skipped("scaled_dot_product_attention has no softcap and no sinks")
    mla = "kv_cache" in inputs
    q = torch.cat((inputs["q_nope"], inputs["q_rope"]), dim=-1) if mla else inputs["q"]
    keys = (inputs["kv_cache"].unsqueeze(2) if mla else inputs["k_cache"]).flatten(0, 1)
    values = keys[..., :case["latent"]] if mla else inputs["v_cache"].flatten(0, 1)
    slots = token_slots(room, inputs["page_table"], inputs["cache_seqlens"], case["page"]).long()
    out = outputs.make("out")
    for b, length in enumerate(inputs["cache_seqlens"].tolist()):
        first = max(0, length - 1 - case["window"]) if case["window"] >= 0 else 0
        if length == 0:
            out[b] = 0  # no call is made for a request without tokens
            continue
        k, v = (rows[slots[b, first:length]].transpose(0, 1).to(q.dtype) for rows in (keys, values))
        group = q.shape[1] // k.shape[0]
        k, v = (rows.repeat_interleave(group, dim=0) for rows in (k, v))
        scale = case["scale"] * case["k_scale"]
        out[b] = sdpa(q[b][None, :, None], k[None], v[None], scale=scale)[0, :, 0] * case["v_scale"]
    outputs.keep("out", out)
    return sdpa, []


OPS = {"paged_decode": paged_decode, "mla_decode": mla_decode, "merge_state": merge_state, "kv_indices": kv_indices,
       "gated_delta_chunk": gated_delta_chunk, "causal_conv1d": causal_conv1d}
TORCH_OPS = {"paged_decode": attend_by_torch, "mla_decode": attend_by_torch}


# What decodes with SGLang's backend for Intel GPUs: compiled kernels of sgl_kernel, which run there and nowhere else.
INTEL_OPS = {"paged_decode": "flash_attn_with_kvcache", "mla_decode": "flash_mla_decode",
             "merge_state": "merge_state_v2"}


def delta_step_of(request):
    """A step of one token a request is decode, one of more is the check of a draft: SGLang has a kernel for each."""
    if max(request["case"]["query_lens"], default=1) == 1:
        return packed_decode
    if not request["drafts"]:
        raise Skipped("steps of several tokens are the check of a draft, which this launch does not make")
    return delta_verification


def op_of(room, request):
    kernel = request["kernel"]
    if room.sglang is not None and kernel == "local_decode":
        return local_tables
    if room.sglang is not None and request["backend"] == "intel_xpu" and kernel in INTEL_OPS:
        if room.device != "xpu":
            raise Skipped(f"the launch decodes with {INTEL_OPS[kernel]} of sgl_kernel, which runs on an Intel GPU only")
        return INTEL_RUNS[kernel]
    if room.sglang is None:
        if kernel not in TORCH_OPS:
            raise Skipped("PyTorch has nothing of its own for this kernel")
        return TORCH_OPS[kernel]
    if kernel == "gated_delta_step":
        return delta_step_of(request)
    if kernel not in OPS:
        raise Skipped("no kernel of SGLang is known here that does this and nothing else")
    return OPS[kernel]


def describe(function):
    """Name and file; a Triton kernel carries the function that it was made from, and wrappers keep its module."""
    function = getattr(function, "fn", function)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return getattr(function, "__name__", str(function)), getattr(module, "__file__", None) or ""


def answer_case(room, request):
    try:
        run = op_of(room, request)
        inputs = {spec["name"]: room.read(spec) for spec in request["inputs"]}
        outputs = Outputs(room, request["outputs"])
        function, notes = run(room, request["case"], inputs, outputs)
        room.synchronize()
        name, file = describe(function)
        return {"outputs": outputs.written, "function": name, "imported": file, "notes": notes, "broken": outputs.broken()}
    except Skipped as reason:
        return {"skipped": str(reason), "lacking": isinstance(reason, Lacking)}
    except Exception as error:  # whatever it raises is its answer
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:600]}


def main():
    answers = os.fdopen(3, "w", encoding="utf-8")

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        room = Room(json.loads(sys.stdin.readline()))
        say(room.ready())
        for line in sys.stdin:
            say(answer_case(room, json.loads(line)))
    except Unusable as reason:
        say({"unusable": str(reason)})


if __name__ == "__main__":
    main()
