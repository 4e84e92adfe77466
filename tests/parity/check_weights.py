#!/usr/bin/env python3
"""Demand that weights said to be counted are those that the release's own classes allocate on a rank.

  check_weights.py PROGRAM RELEASE [ROWS]      exit status 1 names each launch that differs

The rows are tests/parity/weights/<RELEASE>.jsonl.gz (weights.py), or those of the file ROWS. A row may change its model: "changes"
by path (text_config/head_dim), "without" paths. What the sheet calls exact is
within half a percent of the fullest stage; what it calls estimated is counted apart, near where it is within five, and
printed with --estimated. A class
that could not be built there says nothing of its weights.
"""
import collections
import concurrent.futures
import copy
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import facts
from check_pools import ROOT, write_models

SURE = 0.005
NEAR = 0.05
# At least so many launches of each kind. A class that is no longer counted is then only estimated, one whose parts are taken
# for others is no longer near, and one that should not be counted at all is.
LEAST = {"0.5.23": {"exact": 1808, "near": 595, "not counted": 33}}


def write_variant(row, models):
    """The model with what the row changes in it, in a directory of its own; its name."""
    config = copy.deepcopy(json.loads((models / row["model"] / "config.json").read_text(encoding="utf-8")))
    for path in [*row.get("changes", {}), *row.get("without", [])]:
        place, _, key = path.rpartition("/")
        part = config
        for name in place.split("/") if place else ():
            part = part[name]
        if path in row.get("changes", {}):
            part[key] = row["changes"][path]
        else:
            part.pop(key)
    facts.write_models({f"variants/{row['id']}": config}, models)
    return f"variants/{row['id']}"


def sheet(program, release, row, models):
    if "changes" in row or "without" in row:
        row = row | {"model": write_variant(row, models)}
    options = ["--sglang-version", release, "--format", "json", "--device-memory", "24480MiB", "--device-count", "64"]
    options += [w for k, v in (row.get("env") or {}).items() for w in ("--env", f"{k}={v}")]
    words = [a.replace("{model}", str(models / (row.get("model") or ""))) for a in row["args"]]
    done = subprocess.run([program, "memory", *options, "--", *words], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {}


def main():
    estimated = "--estimated" in sys.argv
    program, release, *other = [a for a in sys.argv[1:] if a != "--estimated"]
    file = pathlib.Path(other[0]) if other else ROOT / f"tests/parity/weights/{release}.jsonl.gz"
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if "bytes" in row]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder)
        write_models({r.get("model") for r in rows}, models)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            sheets = list(pool.map(lambda r: sheet(program, release, r, models), rows))
    for row, ours in zip(rows, sheets):
        if ours.get("weights_gib") is None:
            counts["not counted"] += 1
            continue
        off = ours["weights_gib"] / (max(row["bytes"]) / 2**30) - 1
        guess = "near" if abs(off) <= NEAR else "estimated"
        kind = guess if ours["weights_approximated"] else "different" if abs(off) > SURE else "exact"
        counts[kind] += 1
        if kind == "different" or (estimated and kind == guess):
            print(row["id"], " ".join(row["args"]), kind, f"{off:+.1%}")
    print(f"{release}: {len(rows)} launches, {dict(counts)}")
    least = {"exact": 1} if other else LEAST[release]
    sys.exit(counts["different"] > 0 or any(counts[kind] < least[kind] for kind in least))


if __name__ == "__main__":
    main()
