#!/usr/bin/env python3
"""Draw launches at random from a release's option table, for recording what the real release does with them.

  make_cases.py OPTIONS.json MODELS_DIR COUNT [SEED]      one JSON case a line on standard output

A launch names a model directory, the options of one theme that often matter on an Intel GPU, and some of all options.
Values come from the option's type and choices; one in a while is of the wrong kind. The same seed draws the same cases.
Cases are used by `./dev release`; their form is the recorder's.
"""
import json
import pathlib
import random
import sys

# Options that decide much on an Intel GPU, by theme. What the release does not have is left out.
THEMES = {
    "page": ["--attention-backend", "--decode-attention-backend", "--prefill-attention-backend", "--page-size",
             "--kv-cache-dtype", "--disable-radix-cache", "--dtype"],
    "par": ["--tp-size", "--dp-size", "--enable-dp-attention", "--pp-size", "--ep-size", "--moe-a2a-backend", "--nnodes",
            "--dcp-size", "--attn-cp-size"],
    "mem": ["--mem-fraction-static", "--chunked-prefill-size", "--max-running-requests", "--cuda-graph-max-bs-decode",
            "--max-total-tokens", "--cuda-graph-backend-prefill", "--disable-cuda-graph"],
    "spec": ["--speculative-algorithm", "--speculative-num-steps", "--speculative-eagle-topk",
             "--speculative-num-draft-tokens", "--attention-backend", "--page-size"],
    "hybrid": ["--mamba-radix-cache-strategy", "--linear-attn-backend", "--page-size", "--disable-radix-cache",
               "--swa-full-tokens-ratio", "--disable-hybrid-swa-memory"],
    "feature": ["--enable-hierarchical-cache", "--enable-lora", "--disaggregation-mode", "--enable-deterministic-inference",
                "--enable-mixed-chunk", "--is-embedding", "--enable-two-batch-overlap"],
    "quant": ["--quantization", "--moe-runner-backend", "--fp8-gemm-backend", "--load-format", "--dtype"],
    "any": [],
}
DEVICES = [("Intel(R) Arc(TM) A770 Graphics", 16225, False), ("Intel(R) Arc(TM) Pro B60 Graphics", 24480, True),
           ("Intel(R) Arc(TM) Pro B70 Graphics", 32624, True), ("Intel(R) Data Center GPU Max 1100", 49080, True),
           ("Intel(R) Data Center GPU Max 1550", 65520, True)]
NUMBERS = ["0", "1", "2", "4", "8", "16", "32", "64", "128", "256", "4096", "-1"]
# They name hosts, files and hubs, whose outcome depends on the machine that records.
SKIPPED = {"--config", "--device", "--model-path", "--tokenizer-path", "--host", "--dist-init-addr", "--download-dir",
           "--speculative-draft-model-path", "--help"}


def option_of(row):
    return max(row["flags"], key=lambda f: (f.startswith("--"), len(f)))


def value(rng, row):
    if row.get("choices"):
        return rng.choice([str(c) for c in row["choices"]])
    kind = row.get("type")
    if rng.random() < 0.02:
        return rng.choice(["x", "", "1.5", "nan", "1_0"])
    if kind == "float":
        return rng.choice(["0.1", "0.5", "0.8", "1.0", "2", "0"])
    if kind == "int":
        return rng.choice(NUMBERS)
    return rng.choice(["auto", "x", "1", "{}"])


def words(rng, row):
    option = option_of(row)
    if row["action"] in ("StoreTrueAction", "StoreFalseAction", "BooleanOptionalAction", "DeprecatedStoreTrueAction",
                         "DeprecatedStoreConstAction") and row.get("nargs") in (0, None):
        flags = [f for f in row["flags"] if f.startswith("--")]
        return [rng.choice(flags)]
    if row.get("nargs") in ("+", "*"):
        return [option] + [value(rng, row) for _ in range(rng.randint(1, 3))]
    given = value(rng, row)
    return [f"{option}={given}"] if rng.random() < 0.2 else [option, given]


def model_names(folder):
    return sorted(p.name for p in pathlib.Path(folder).iterdir() if (p / "config.json").exists())


def main():
    table = [r for r in json.loads(pathlib.Path(sys.argv[1]).read_text()).values() if not SKIPPED & set(r["flags"])]
    by_name = {f: r for r in table for f in r["flags"]}
    models = model_names(sys.argv[2])
    count, rng = int(sys.argv[3]), random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    for i in range(count):
        theme = rng.choice(sorted(THEMES))
        names = [n for n in THEMES[theme] if n in by_name]
        rows = [by_name[n] for n in rng.sample(names, min(len(names), rng.randint(1, 3)))]
        rows += rng.sample(table, rng.randint(0, 2) if rows else rng.randint(1, 4))
        args = ["--model-path", "{model}"] + [w for row in rows for w in words(rng, row)]
        if "--speculative-algorithm" in args:
            args += ["--speculative-draft-model-path", "{models}/" + rng.choice(models)] if rng.random() < 0.6 else []
        name, memory, fp64 = rng.choice(DEVICES)
        print(json.dumps({"id": f"c{i:05d}", "model": rng.choice(models), "args": args,
                          "device": {"name": name, "memory_mib": memory, "count": rng.choice([1, 2, 4, 8]), "has_fp64": fp64}}))


if __name__ == "__main__":
    main()
