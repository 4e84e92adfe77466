#!/usr/bin/env python3
"""Demand that every recorded launch is resolved as the release itself resolved it.

  check.py PROGRAM RELEASE      exit status 1 names each launch that differs, and where
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import facts


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b


def differences(recorded, predicted):
    keys = ["outcome"]
    if recorded["outcome"] == predicted.get("outcome"):
        keys += {"usage": ["kind", "flag"], "error": ["stage", "exception", "function"],
                 "ok": ["resolved", "trace", "writes", "warnings", "unmodelled"]}[recorded["outcome"]]
    predicted = {**predicted, "warnings": [w[:2] for w in predicted["warnings"]]}
    for key in keys:
        was, is_now = recorded.get(key), predicted.get(key)
        if isinstance(was, dict) and isinstance(is_now, dict):
            for field in sorted(was.keys() | is_now.keys()):
                if not same(was.get(field), is_now.get(field)):
                    yield f"{field}: recorded {was.get(field)!r}, ours {is_now.get(field)!r}"
        elif not same(was, is_now):
            yield f"{key}: recorded {was!r}, ours {is_now!r}"


def main():
    program, release = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        cases, rows = facts.unpack(release, pathlib.Path(folder))
        run = subprocess.run([program, "resolve", "--sglang-version", release, "--models", f"{folder}/models", "--batch", str(cases)],
                             capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        predicted = {p["id"]: p for p in map(json.loads, run.stdout.splitlines())}
    assert len(rows) >= 100 and predicted.keys() == {row["id"] for row in rows}, "every launch has one outcome"
    wrong = 0
    for row in rows:
        found = list(differences(row, predicted[row["id"]]))
        if found:
            wrong += 1
            print(row["id"], row["model"], json.dumps(row["args"], ensure_ascii=False))
            for line in found:
                print("   ", line[:300])
    print(f"{release}: {len(rows) - wrong} of {len(rows)} launches agree")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
