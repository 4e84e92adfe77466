#!/usr/bin/env python3
"""Write which classes of models a release has: run make_model_classes.py OUT.json in an interpreter that has the release.

Entries by the name that config.json gives under "architectures", with what serves it on an Intel GPU:

  stages         a class of SGLang's own whose forward takes what another pipeline stage hands on
  whole          one that does not, so that the worker asserts with --pp-size
  own            one of SGLang's own that this interpreter could not import or look into
  transformers   none of its own; transformers' class is compatible with SGLang's backend for those
  refused        none of its own, and transformers' class says that it is not compatible

A name that is missing is known to neither.
"""
import importlib.util
import inspect
import json
import pathlib
import re
import sys

PARITY = pathlib.Path(__file__).resolve().parents[2] / "tests/parity"
sys.path.insert(0, str(PARITY))


def named_in_sources(folder):
    """EntryClass of every module, whether it can be imported here or not."""
    names = set()
    for file in folder.rglob("*.py"):
        for entry in re.findall(r"^EntryClass\s*(?::[^=]*)?=\s*(\[[^\]]*\]|\w+)", file.read_text(encoding="utf-8"), re.M):
            names.update(re.findall(r"\w+", entry))
    return names


def stages(kind):
    try:
        return "stages" if "pp_proxy_tensors" in inspect.signature(kind.forward).parameters else "whole"
    except (AttributeError, TypeError, ValueError):  # one that makes instances of others
        return "own"


def of_transformers(transformers):
    """Models of transformers: all that a module of models offers."""
    folder = pathlib.Path(transformers.__file__).parent / "models"
    names = set()
    for file in folder.glob("*/modeling_*.py"):
        names.update(re.findall(r"""["'](\w+)["']""", "".join(re.findall(r"__all__\s*=\s*\[[^\]]*\]", file.read_text(encoding="utf-8")))))
    for name in sorted(names):
        kind = getattr(transformers, name, None)
        if isinstance(kind, type):
            compatible = getattr(kind, "is_backend_compatible", lambda: True)()
            yield name, "transformers" if compatible else "refused"


def main():
    import record
    from record import sglang_peer

    sglang_peer.hide_packages()
    sglang_peer.describe_device(record.DEVICE)
    import torch

    torch.xpu.Stream = type("Stream", (), {})
    import transformers
    from sglang.srt.models.registry import ModelRegistry

    models = pathlib.Path(importlib.util.find_spec("sglang.srt.models").submodule_search_locations[0])
    classes = dict(of_transformers(transformers))
    classes.update({name: "own" for name in named_in_sources(models)})
    classes.update({name: stages(kind) for name, kind in ModelRegistry.models.items()})
    pathlib.Path(sys.argv[1]).write_text(json.dumps(classes, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
