#!/usr/bin/env python3
"""Group disagreements with a recorded release by the upstream step that they belong to.

  by_step.py RECORDED.jsonl PREDICTED.jsonl COMPARE_DIR      (COMPARE_DIR holds compare.py, which defines agreement)

A refusal belongs to the function that raises it; a field to the last step that set it, in the recording or else in the
prediction; a warning to the first function that only one side names. Used by `./dev release`.
"""
import collections
import json
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        return {row["id"]: row for row in (json.loads(line) for line in f if line.strip())}


def setter(outcome, field):
    last = None
    for source, fields in outcome.get("trace") or []:
        if field in fields:
            last = source
    for source, name, _ in outcome.get("writes") or []:
        if name == field:
            last = source
    return last


def step_of(difference, recorded, predicted):
    kind, _, rest = difference.partition(" ")
    if kind == "field":
        field = rest.split()[0]
        return setter(recorded, field) or setter(predicted, field) or "no step"
    if kind == "warnings":
        ours, theirs = [[w[1] for w in side.get("warnings", [])] for side in (predicted, recorded)]
        return next((a or b for a, b in zip(theirs + [None], ours + [None]) if a != b), None) or "order of warnings"
    return recorded.get("function") or predicted.get("function") or "command line"


def main():
    recorded, predicted = lines(sys.argv[1]), lines(sys.argv[2])
    sys.path.insert(0, sys.argv[3])
    import compare
    steps = collections.defaultdict(list)
    for name, row in recorded.items():
        if row["outcome"] == "harness":
            continue
        ours = predicted.get(name) or {}
        found = compare.differences(row, predicted.get(name))
        for step in {step_of(d, row, ours) for d in found}:
            steps[step].append(name)
    for step, names in sorted(steps.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{len(names):5d}  {step}: {' '.join(sorted(names)[:4])}{' …' if len(names) > 4 else ''}")


if __name__ == "__main__":
    main()
