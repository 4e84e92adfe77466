"""Ask an installed SGLang what it does with launch arguments on an Intel GPU.

Runs inside the Python environment that holds SGLang. Reads one JSON object from standard input:

  {"argv": [...], "env": {...}, "device": {"memory_mib": int, "count": int, "name": str, "has_fp64": bool},
   "real_device": bool, "release_only": bool}

and prints one JSON object: release, outcome, stage, exception/function/message, warnings, defaults, resolved (every
field), writes, trace. With "real_device" torch's own XPU is used; otherwise one is described to torch, and packages
that an Intel installation does not have are hidden.
"""
import sys

# With -c Python looks into the current directory first: a json.py that lies there is none of ours.
sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]

import argparse
import ctypes
import dataclasses
import enum
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import io
import json
import logging
import os
import re
import signal
import traceback
import types

# Packages for other hardware; SGLang looks for them to decide what it may use.
ABSENT = frozenset(
    "flashinfer flashinfer_cubin flashinfer_python flash_attn flash_attn_interface flash_mla sgl_flash_mla deep_gemm "
    "deep_ep cutlass cuda pynvml nvshmem nvidia_cutlass_dsl tilelang helion humming tokenspeed_mla quack nvmath "
    "cuda_tile cupy torch_memory_saver torchao kernels aiter vllm mooncake nixl mori ray fast_hadamard_transform "
    "triton_kernels".split()
)
CHOSEN_ANEW = frozenset(("random_seed", "nccl_port", "_launch_command", "rpc_ipc_name"))
ABSENT_VALUE = object()
USAGE = [("unrecognized", r"unrecognized arguments: (.*)$"), ("ambiguous", r"ambiguous option: (\S+) could match"),
         ("choice", r"argument ([^:]+): invalid choice:"), ("expected", r"argument ([^:]+): expected "),
         ("required", r"the following arguments are required: (.*)$"), ("value", r"argument ([^:]+): ")]


class AnyKernel:
    """Stands for whatever is imported from the kernel package: resolution only needs the names."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyKernel()

    def __call__(self, *args, **kwargs):
        return None


class KernelPackage(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyKernel()


class Hide(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Hides absent packages, and replaces the kernel package, whose XPU build needs the device."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name == "sgl_kernel.scalar_type":  # plain Python in every build
            package = importlib.machinery.PathFinder.find_spec("sgl_kernel")
            if package is None:
                return None
            file = os.path.join(list(package.submodule_search_locations)[0], "scalar_type.py")
            return importlib.util.spec_from_file_location(name, file)
        if top == "sgl_kernel":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = KernelPackage(spec.name)
        module.__path__, module.__file__, module.__version__ = [], "sgl_kernel", "0.2.0"
        return module

    def exec_module(self, module):
        pass


def hide_packages():
    sys.meta_path.insert(0, Hide())
    spec_of, version_of = importlib.util.find_spec, importlib.metadata.version

    def find_spec(name, package=None):
        return None if name.partition(".")[0] in ABSENT else spec_of(name, package)

    def version(name):
        if name.replace("-", "_").lower() in ABSENT:
            raise importlib.metadata.PackageNotFoundError(name)
        return version_of(name)

    importlib.util.find_spec, importlib.metadata.version = find_spec, version


def describe_device(device):
    """Makes torch report an Intel GPU and no CUDA."""
    import torch

    total = device["memory_mib"] << 20
    properties = types.SimpleNamespace(
        name=device["name"], total_memory=total, has_fp64=device["has_fp64"], has_fp16=True, gpu_eu_count=160,
        max_compute_units=160, uuid="0" * 32, driver_version="1", platform_name="Level-Zero", type="gpu", version="20.1.0")

    def no_cuda(*args, **kwargs):
        raise AssertionError("Torch not compiled with CUDA enabled")

    torch.version.cuda, torch.version.xpu = None, "20250302"
    torch.__version__ = type(torch.__version__)(torch.__version__.partition("+")[0] + "+xpu")
    torch.cuda.is_available, torch.cuda.device_count, torch.cuda._lazy_init = lambda: False, lambda: 0, no_cuda
    xpu = torch.xpu
    xpu.is_available, xpu.device_count, xpu.current_device = lambda: device["count"] > 0, lambda: device["count"], lambda: 0
    xpu.set_device = xpu.synchronize = lambda d=None: None
    xpu.empty_cache = lambda: None
    xpu.get_device_properties, xpu.get_device_name = lambda d=None: properties, lambda d=None: device["name"]
    xpu.get_device_capability = lambda d=None: {"version": "20.1.0", "has_fp64": device["has_fp64"], "has_fp16": True}
    xpu.mem_get_info = lambda d=None: (total, total)
    xpu.memory_allocated = xpu.max_memory_allocated = xpu.memory_reserved = lambda d=None: 0
    xpu.is_initialized, xpu.manual_seed_all = lambda: False, lambda s: None


def plain(value, depth=0):
    """A field's value as JSON knows it."""
    if depth > 8:
        return repr(value)
    if isinstance(value, enum.Enum):
        return plain(value.value, depth + 1)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, dict):
        return {str(plain(k)): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v, depth + 1) for v in value), key=repr)
    names = field_names(type(value))
    if names and not isinstance(value, type):
        return {n: plain(getattr(value, n), depth + 1) for n in names}
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(), depth + 1)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def usage_of(message):
    """What argparse refused, and the option as it names it first."""
    for kind, pattern in USAGE:
        if match := re.match(pattern, message, re.S):
            flag = match.group(1).strip()
            return {"kind": kind, "flag": flag if kind in ("unrecognized", "ambiguous") else flag.split("/")[0]}
    return {"kind": "other", "flag": ""}


def defaults_of(cls):
    """What a launch starts from, of the fields whose default the class tells."""
    out = {}
    for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
        if field.default is not dataclasses.MISSING:
            out[field.name] = plain(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            out[field.name] = plain(field.default_factory())
    return {k: v for k, v in out.items() if k not in CHOSEN_ANEW}


def field_names(cls):
    if dataclasses.is_dataclass(cls):
        return [f.name for f in dataclasses.fields(cls)]
    return list(getattr(cls, "__struct_fields__", ()))


class LogLines(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        if record.name.startswith("sglang"):
            self.lines.append([record.levelname, record.funcName, record.getMessage()[:400]])


def keep_handler(handler):
    """SGLang reconfigures the root logger while it parses; the handler has to survive that."""
    root, configure = logging.getLogger(), logging.basicConfig

    def basic_config(*args, **kwargs):
        configure(*args, **kwargs)
        if handler not in root.handlers:
            root.addHandler(handler)

    logging.basicConfig = basic_config
    root.addHandler(handler)


def watch_writes(cls, writes):
    if not dataclasses.is_dataclass(cls):
        return
    own, fields = cls.__setattr__, {f.name for f in dataclasses.fields(cls)} - CHOSEN_ANEW

    def watched(self, name, value):
        before = self.__dict__.get(name, ABSENT_VALUE)
        own(self, name, value)
        caller = sys._getframe(1).f_code.co_name
        if name in fields and before is not ABSENT_VALUE and caller not in ("__init__", "materialize_declarations"):
            if plain(before) != plain(value):
                writes.append([caller, name, plain(value)])

    cls.__setattr__ = watched


def trace_of(record):
    entries = []
    for entry in getattr(record, "_resolved_overrides", None) or ():
        source, fields = entry if isinstance(entry, (tuple, list)) else (entry.source, entry.fields)
        entries.append([str(source), {k: plain(v) for k, v in fields.items() if k not in CHOSEN_ANEW}])
    return entries


def values_of(record):
    values = record.resolved_dict() if hasattr(record, "resolved_dict") else {
        n: getattr(record, n, None) for n in field_names(type(record))}
    return {k: plain(v) for k, v in values.items() if k not in CHOSEN_ANEW}


def keep_refusals(said):
    """What a parser refuses with, whole: printed behind the usage, its lines would have to be told from those of others."""
    refuse = argparse.ArgumentParser.error

    def error(self, message):
        said.append(message)
        refuse(self, message)

    argparse.ArgumentParser.error = error


def resolve(argv):
    from sglang.srt import server_args as module

    cls, stage, writes, handler = module.ServerArgs, ["parse"], [], LogLines()
    keep_handler(handler)
    construct = cls.from_cli_args.__func__

    def from_cli_args(c, args):
        stage[0] = "resolve"
        return construct(c, args)

    cls.from_cli_args = classmethod(from_cli_args)
    watch_writes(cls, writes)
    refusals = []
    keep_refusals(refusals)
    out, real = {}, (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = io.StringIO()
    try:
        record = module.prepare_server_args(argv)
        stage[0] = "resolve"
        if hasattr(record, "resolve_once"):
            record.resolve_once()
        stage[0] = "check"
        record.check_server_args()
        out.update(outcome="ok", resolved=values_of(record), trace=trace_of(record), writes=writes)
    except SystemExit as end:
        message = refusals[-1] if refusals else f"exit {end.code}"
        out.update(outcome="usage" if stage[0] == "parse" else "error", stage=stage[0], message=message)
    except BaseException as error:  # whatever it raises is its answer
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/sglang/" in f.filename]
        out.update(outcome="error", stage=stage[0], exception=type(error).__name__,
                   function=frames[-1].name if frames else None, message=str(error)[:600])
    finally:
        sys.stdout, sys.stderr = real
    out["warnings"] = handler.lines
    return out


def say(answer):
    """What is asked for, on a descriptor of its own: libraries print what they like."""
    with os.fdopen(3, "w", encoding="utf-8") as answers:
        answers.write(json.dumps(answer) + "\n")


def end_with_the_asker():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main():
    end_with_the_asker()
    request = json.load(sys.stdin)
    for name, value in {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error",
                        "TOKENIZERS_PARALLELISM": "false", **request.get("env", {})}.items():
        os.environ[name] = str(value)
    try:
        release = importlib.metadata.version("sglang")
    except importlib.metadata.PackageNotFoundError:
        say({"error": f"no sglang package in {sys.executable}"})
        return
    if request.get("release_only"):
        say({"release": release})
        return
    if not request.get("real_device"):
        hide_packages()
        describe_device(request["device"])
    answer = resolve(request["argv"])
    answer["release"] = release
    if answer["outcome"] == "usage":
        answer.update(usage_of(answer["message"]))
    elif answer["outcome"] == "ok":
        from sglang.srt.server_args import ServerArgs

        answer["defaults"] = defaults_of(ServerArgs)
    say(answer)


if __name__ == "__main__":
    main()
