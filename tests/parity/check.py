#!/usr/bin/env python3
"""Demand that every recorded launch is resolved as the release itself resolved it.

  check.py PROGRAM RELEASE [ROWS [MODELS]] [--by-step]      exit status 1 names each launch that differs, and where

The rows are tests/parity/<RELEASE>.jsonl.gz, or those of the file ROWS, whose models are the recorded ones or lie in MODELS. With --by-step the launches that differ are
grouped by the upstream step that the difference belongs to: the function that refuses, the last step that set the field,
or the first function of which only one side warns.
"""
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import facts

# Of the machine that the launches were recorded on: with --device cpu the memory share follows from it.
HOST_MEMORY = "24105MiB"
COMPARED = {"usage": ["kind", "flag", "warnings"], "error": ["stage", "exception", "function", "warnings"],
            "ok": ["resolved", "trace", "writes", "warnings", "unmodelled"]}


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


def differences(recorded, predicted):
    """(what, recorded, ours) of everything that differs; a resolved field by its name."""
    keys = ["outcome"]
    if recorded["outcome"] == predicted.get("outcome"):
        keys += COMPARED[recorded["outcome"]]
    predicted = {**predicted, "warnings": [w[:2] for w in predicted["warnings"]]}
    for key in keys:
        was, is_now = recorded.get(key), predicted.get(key)
        if isinstance(was, dict) and isinstance(is_now, dict):
            for field in sorted(was.keys() | is_now.keys()):
                if not same(was.get(field), is_now.get(field)):
                    yield field, was.get(field), is_now.get(field)
        elif not same(was, is_now):
            yield key, was, is_now


def setter(outcome, field):
    last = None
    for source, fields in outcome.get("trace") or []:
        last = source if field in fields else last
    for source, name, _ in outcome.get("writes") or []:
        last = source if name == field else last
    return last


def step_of(what, recorded, predicted):
    if what == "warnings":
        theirs, ours = ([w[1] for w in side.get("warnings", [])] for side in (recorded, predicted))
        return next((a or b for a, b in zip(theirs + [None], ours + [None]) if a != b), None) or "order of warnings"
    return (setter(recorded, what) or setter(predicted, what) or recorded.get("function") or predicted.get("function")
            or ("chain of changes" if what in ("trace", "writes") else "command line"))


def main():
    by_step = "--by-step" in sys.argv
    program, release, *rest = [a for a in sys.argv[1:] if not a.startswith("--")]
    with tempfile.TemporaryDirectory() as folder:
        cases, rows = facts.unpack(release, pathlib.Path(folder), pathlib.Path(rest[0]) if rest else None)
        models = rest[1] if len(rest) > 1 else f"{folder}/models"
        run = subprocess.run([program, "resolve", "--sglang-version", release, "--host-memory", HOST_MEMORY, "--models", models, "--batch", str(cases)],
                             capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        predicted = {p["id"]: p for p in map(json.loads, run.stdout.splitlines())}
    assert (rest or len(rows) >= 100) and predicted.keys() == {row["id"] for row in rows}, "every launch has one outcome"
    wrong, steps = 0, collections.defaultdict(list)
    for row in rows:
        found = list(differences(row, predicted[row["id"]]))
        wrong += bool(found)
        for step in {step_of(what, row, predicted[row["id"]]) for what, _, _ in found}:
            steps[step].append(row["id"])
        if found and not by_step:
            print(row["id"], row["model"], json.dumps(row["args"], ensure_ascii=False))
            for what, was, is_now in found:
                print("   ", f"{what}: recorded {was!r}, ours {is_now!r}"[:300])
    for step, names in sorted(steps.items(), key=lambda item: (-len(item[1]), item[0])) if by_step else ():
        print(f"{len(names):5d}  {step}: {' '.join(sorted(names)[:4])}{' …' if len(names) > 4 else ''}")
    print(f"{release}: {len(rows) - wrong} of {len(rows)} launches agree")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
