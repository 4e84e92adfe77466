#!/usr/bin/env python3
"""Demand that `memory` sizes the pools of every recorded launch as the release's own configurator did.

  check_pools.py PROGRAM RELEASE [ROWS]      exit status 1 names each launch that differs, and where

The rows are tests/parity/pools/<RELEASE>.jsonl.gz (pools.py), or those of the file ROWS. A model is one of the recorded
launches', or, as known/NAME, of configs/models. A launch that the release fails, or that admits no request, fits here
neither, or an error of the rules tells; one whose pools are said to be not counted is counted apart, and printed.
"""
import collections
import concurrent.futures
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import facts

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = {"tokens": "tokens", "window": "window_tokens", "slots": "state_slots", "requests": "requests"}


def write_models(names, folder):
    recorded = facts.all_models()
    known = {n: json.loads((ROOT / "configs/models" / f"{n[6:]}.json").read_text())["config"]
             for n in names if n.startswith("known/")}
    facts.write_models({n: known.get(n) or recorded[n] for n in names if n}, folder)


def sheet(program, release, row, models):
    device = {"memory_mib": 24480, "count": 8, "name": "Intel(R) Arc(TM) Pro B60 Graphics", **(row.get("device") or {})}
    options = ["--sglang-version", release, "--format", "json", "--weights-gib", repr(row["weights"]), "--free-gib",
               repr(row["free"]), "--device-memory", f"{device['memory_mib']}MiB", "--device-count", str(device["count"])]
    options += [] if device.get("has_fp64", True) else ["--no-fp64"]
    options += ["--draft-gib", repr(row["draft"])] if row["draft"] else []
    options += [w for k, v in (row.get("env") or {}).items() for w in ("--env", f"{k}={v}")]
    model = str(models / (row.get("model") or ""))
    words = [a.replace("{models}", str(models)).replace("{model}", model) for a in row["args"]]
    done = subprocess.run([program, "memory", *options, "--", *words], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"why": done.stderr.strip()[-300:]}


def differences(row, ours):
    """(what, recorded, ours) of everything that differs."""
    if "error" in row or row.get("requests") == 0:
        if ours.get("fits") and not ours.get("other_errors"):
            yield "error", row.get("error"), ours["tokens"]
        return
    for key, name in NAMES.items():
        if key in row and row[key] != ours.get(name):
            yield key, row[key], ours.get(name)


def main():
    program, release, *other = sys.argv[1:]
    file = pathlib.Path(other[0]) if other else ROOT / f"tests/parity/pools/{release}.jsonl.gz"
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder)
        drafts = {a.removeprefix("{models}/") for r in rows for a in r["args"] if a.startswith("{models}/")}
        write_models({r.get("model") for r in rows} | drafts, models)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            sheets = list(pool.map(lambda r: sheet(program, release, r, models), rows))
    for row, ours in zip(rows, sheets):
        found = [] if "error" in row and "why" in ours else list(differences(row, ours))
        silent = "why" in ours
        counts["not counted" if silent and found else "different" if found else "equal"] += 1
        if found:
            print(row["id"], " ".join(row["args"]), ours["why"] if silent else found)
    print(f"{release}: {len(rows)} launches, {dict(counts)}")
    sys.exit(counts["different"] > 0)


if __name__ == "__main__":
    main()
