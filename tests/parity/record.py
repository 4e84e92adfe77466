#!/usr/bin/env python3
"""Record what an installed SGLang does, as the tests and tables of this project want it.

Run by an interpreter that has SGLang (no GPU is needed; src/resolve/peer/ask_sglang.py says what is described to it):

  record.py tables OPTIONS.json DEFAULTS.json                  entries for configs/sglang (see configs/ranges.py)
  record.py launches CASES OUT [--models DIR] [--jobs N]       rows of tests/parity/<release>.jsonl.gz, in order
  record.py models CASES OUT                                   what ModelConfig derives (model_configs.py)

A case is a line of JSON: id, args, model, and if need be device, env, config (facts.py). Each is asked in a process of its
own, forked after SGLang is imported. A case that gets no answer in time is left out, and named on standard error.
"""
import argparse
import dataclasses
import inspect
import json
import os
import pathlib
import re
import signal
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src/resolve/peer"))
import ask_sglang as sglang_peer  # noqa: E402

DEVICE = {"memory_mib": 24480, "count": 8, "name": "Intel(R) Arc(TM) Pro B60 Graphics", "has_fp64": True}
HOST = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
        "SGLANG_USE_MODELSCOPE": "0", "TRANSFORMERS_VERBOSITY": "error", "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0"}  # messages print sets
SECONDS = 120
FACTS = ("context_len head_dim v_head_dim swa_head_dim swa_v_head_dim scaling kv_lora_rank qk_nope_head_dim "
         "qk_rope_head_dim index_head_dim num_attention_heads num_key_value_heads hidden_size spec_hidden_size "
         "num_hidden_layers num_attention_layers num_nextn_predict_layers vocab_size is_hybrid_swa swa_attention_layer_ids "
         "full_attention_layer_ids has_attention_sinks is_hybrid_swa_compress is_generation is_multimodal is_audio_model "
         "is_image_understandable_model is_audio_understandable_model is_multimodal_chunked_prefill_supported "
         "is_encoder_decoder is_local_attention_model is_piecewise_cuda_graph_disabled_model "
         "is_multimodal_piecewise_cuda_graph_supported is_multimodal_breakable_cuda_graph_supported is_embedding_gemma "
         "is_lm_only model_is_mrope sliding_window_size attention_chunk_size quantization").split()


def short(value):
    """Long lists of integers (sizes of captured graphs) by length, ends and sum."""
    if isinstance(value, list) and len(value) > 12 and all(isinstance(v, int) for v in value):
        return f"{len(value)} integers {value[0]}..{value[-1]} sum {sum(value)}"
    if isinstance(value, list):
        return [short(v) for v in value]
    if isinstance(value, dict):
        return {k: short(v) for k, v in value.items()}
    return value


def declared_defaults(cls):
    if dataclasses.is_dataclass(cls):
        fields, missing = dataclasses.fields(cls), dataclasses.MISSING
    else:
        import msgspec

        fields, missing = msgspec.structs.fields(cls), msgspec.NODEFAULT
    for field in fields:
        if field.default is not missing:
            yield field.name, field.default
        elif field.default_factory is not missing:
            yield field.name, field.default_factory()


def parser_of(cls):
    parser = argparse.ArgumentParser()
    cls.add_cli_args(parser)
    return parser


def defaults():
    from sglang.srt.server_args import ServerArgs

    values = dict(declared_defaults(ServerArgs))
    parsed = vars(parser_of(ServerArgs).parse_args(["--model-path", "x"]))
    names = [n for n in sglang_peer.field_names(ServerArgs) if n != "model_path" and n not in sglang_peer.CHOSEN_ANEW]
    return {n: short(sglang_peer.plain(parsed.get(n, values.get(n)))) for n in names if n in parsed or n in values}


def options():
    """Entries of options.json: what says nothing is left out."""
    from sglang.srt.server_args import ServerArgs

    table = {}
    for action in parser_of(ServerArgs)._actions:
        if action.dest == "help":
            continue
        row = {"action": type(action).__name__.lstrip("_"), "choices": action.choices and sorted(map(str, action.choices)),
               "const": sglang_peer.plain(action.const), "default": sglang_peer.plain(action.default), "dest": action.dest,
               "flags": list(action.option_strings), "nargs": action.nargs, "replaced_by": None, "required": action.required or None,
               "type": getattr(action.type, "__name__", None) if action.type else None}
        if getattr(action, "error_message", None):  # one class stands for options that warn and for those that end the parser
            row["action"] = "RetiredAction"
        if getattr(action, "new_flag", None):
            row["replaced_by"] = sglang_peer.plain(action.new_flag)
        table[row["flags"][0]] = {k: v for k, v in row.items() if v is not None}
    return table


def answer(case, models, initial):
    """One launch, in a process of its own."""
    os.environ.update({k: str(v) for k, v in (case.get("env") or {}).items()})
    sglang_peer.describe_device({**DEVICE, **(case.get("device") or {})})
    model, config = os.path.join(models, case.get("model") or ""), ""
    if case.get("config") is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
            file.write(case["config"].replace("{models}", models).replace("{model}", model))
        config = file.name
    argv = [a.replace("{models}", models).replace("{model}", model).replace("{config}", config) for a in case["args"]]
    out = sglang_peer.resolve(argv)
    if config:
        os.unlink(config)
    text = json.dumps({k: short(v) for k, v in out.items()})
    for path, name in ((config, "{config}"), (model, "{model}"), (models, "{models}")):
        text = text.replace(path, name) if path else text
    out = json.loads(text)
    row = {**case, "outcome": out["outcome"], "warnings": [w[:2] for w in out["warnings"]]}
    row.pop("theme", None)
    if out["outcome"] == "usage":
        row.update(sglang_peer.usage_of(out["message"]))
    elif out["outcome"] == "error":
        row.update({k: out[k] for k in ("stage", "exception", "function") if k in out})
    else:
        row["resolved"] = {k: v for k, v in out["resolved"].items() if k not in initial or initial[k] != v}
        row.update({k: out[k] for k in ("trace", "writes") if out[k]})
    return row


def in_child(work):
    """What `work` returns, or None when it takes too long or dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        with os.fdopen(writer, "w") as file:
            file.write(json.dumps(work()))
        os._exit(0)
    os.close(writer)
    return child, os.fdopen(reader)


def launches(options):
    cases = [json.loads(line) for line in options.cases.read_text(encoding="utf-8").splitlines() if line]
    models, initial = str(options.models.resolve()), defaults()
    from sglang.srt.configs.model_config import ModelConfig  # noqa: F401  imported once, before the forks

    rows, running = {}, []

    def take():
        index, child, reader = running.pop(0)
        text = reader.read()
        os.waitpid(child, 0)
        if text:
            rows[index] = json.loads(text)
        else:
            print("no answer:", cases[index]["id"], file=sys.stderr)

    for index, case in enumerate(cases):
        running.append((index, *in_child(lambda case=case: answer(case, models, initial))))
        if len(running) >= options.jobs:
            take()
    while running:
        take()
    lines = [json.dumps(rows[i], sort_keys=True, separators=(",", ":"), ensure_ascii=False) for i in sorted(rows)]
    options.out.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def derived(case):
    """What ModelConfig makes of a config.json: FACTS by name, or the exception and the function that raised it."""
    import traceback

    from sglang.srt.configs.model_config import ModelConfig

    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"config.json": case["config"], **case.get("files", {})}.items():
            pathlib.Path(folder, name).write_text(json.dumps(content), encoding="utf-8")
        taken = inspect.signature(ModelConfig).parameters  # a release that has no such argument is asked without it
        try:
            model = ModelConfig(folder, **{k: v for k, v in case.get("request", {}).items() if k in taken})
        except Exception as error:  # pylint: disable=broad-except  # whatever it raises is its answer
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "/sglang/" in f.filename]
            return {"error": [type(error).__name__, frames[-1].name if frames else None]}
    facts = {name: getattr(model, name, None) for name in FACTS}
    facts["dtype"] = str(model.dtype).removeprefix("torch.")
    facts["attention_arch"] = model.attention_arch.name
    facts["architectures"] = model.hf_config.architectures
    facts["rope_parameters"] = getattr(model.hf_text_config, "rope_parameters", None)
    return {"facts": sglang_peer.plain(facts)}


def models_of(options):
    from sglang.srt.configs.model_config import ModelConfig  # noqa: F401  imported once, before the forks

    with open(options.out, "w", encoding="utf-8") as out:
        for case in map(json.loads, options.cases.read_text(encoding="utf-8").splitlines()):
            child, reader = in_child(lambda case=case: derived(case))
            text = reader.read()
            os.waitpid(child, 0)
            if text:
                out.write(json.dumps({"id": case["id"], **json.loads(text)}) + "\n")
            else:
                print("no answer:", case["id"], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    tables = commands.add_parser("tables")
    tables.add_argument("options", type=pathlib.Path)
    tables.add_argument("defaults", type=pathlib.Path)
    record = commands.add_parser("launches")
    record.add_argument("cases", type=pathlib.Path)
    record.add_argument("out", type=pathlib.Path)
    record.add_argument("--models", type=pathlib.Path, required=True)
    record.add_argument("--jobs", type=int, default=2)
    models = commands.add_parser("models")
    models.add_argument("cases", type=pathlib.Path)
    models.add_argument("out", type=pathlib.Path)
    given = parser.parse_args()
    if any(os.environ.get(k) != v for k, v in HOST.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **HOST})
    sglang_peer.hide_packages()
    sglang_peer.describe_device(DEVICE)
    if given.command == "launches":
        launches(given)
        return
    if given.command == "models":
        models_of(given)
        return
    for path, table in ((given.options, options()), (given.defaults, defaults())):
        path.write_text(json.dumps(table), encoding="utf-8")


if __name__ == "__main__":
    main()
