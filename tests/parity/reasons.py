#!/usr/bin/env python3
"""Demand that every change and choice a finding tells of gives its own reason, over recorded launches.

  reasons.py PROGRAM RELEASE [EVERY]       over the recorded launches of that release, or every so many of them; exit
                                           status 1 when one has no reason but the general sentence of its rule
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import facts

RULES = ("CH001", "CH002")


def general(program, rule):
    """What `explain` says of the rule, in one line: the sentence told where no step's reason is known is part of it."""
    run = subprocess.run([program, "explain", rule], capture_output=True, text=True, check=True)
    return " ".join(run.stdout.split())


def findings(program, release, models, cases):
    run = subprocess.run([program, "check", "--batch", "-", "--sglang-version", release, "--models", str(models), "--fail-on", "never"],
                         input="".join(json.dumps(c) + "\n" for c in cases), capture_output=True, text=True, check=False)
    assert run.stdout or not cases, run.stderr
    for row in map(json.loads, run.stdout.splitlines()):
        for finding in row["findings"]:
            if finding["rule"] in RULES:
                yield row["id"], finding


def main():
    program, release, *every = sys.argv[1:]
    without = {rule: general(program, rule) for rule in RULES}
    with tempfile.TemporaryDirectory() as folder:
        path, _ = facts.unpack(release, pathlib.Path(folder))
        with open(path, encoding="utf-8") as file:
            cases = [json.loads(line) for line in file][::int(every[0]) if every else 1]
        told = list(findings(program, release, pathlib.Path(folder) / "models", cases))
    bad = [(i, f) for i, f in told if f["why"] in without[f["rule"]]]
    counts = collections.Counter((f["rule"], f["why"]) for _, f in told)
    print(f"  {len(told)} changes and choices, {len(counts)} reasons; {len(bad)} without one")
    seen = set()
    for i, f in bad:
        key = f["rule"], f["field"], f["source"]
        if key not in seen:
            print(f"    {i}: {f['rule']} {f['message']}")
        seen.add(key)
    assert told, "nothing was told of"
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
