#!/usr/bin/env python3
"""What releases make of configurations: tests/data/model_configs.jsonl, which tests/model_configs_test.cpp reads.

  model_configs.py cases                 the configurations, as record.py models takes them
  model_configs.py add RELEASE RECORDED  what it recorded with a release

Answers of neighbouring releases that are the same stand once ("11-14"). A new configuration is a line with id, config,
request and files if need be, and "releases": {}; one that all releases answer alike tells nothing, and is left out.
"""
import json
import pathlib
import sys

FILE = pathlib.Path(__file__).resolve().parents[1] / "data/model_configs.jsonl"
# Told by the code that a checkpoint brings along, or asked of no one.
UNASKED = {"rope_parameters": ("kimi", "longcat", "model-")}


def read():
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def by_release(ranges):
    answers = {}
    for span, answer in ranges.items():
        first, _, last = span.partition("-")
        answers.update({patch: answer for patch in range(int(first), int(last or first) + 1)})
    return answers


def by_range(answers):
    spans = []
    for patch, answer in sorted(answers.items()):
        if spans and spans[-1][1] == patch - 1 and spans[-1][2] == answer:
            spans[-1][1] = patch
        else:
            spans.append([patch, patch, answer])
    return {f"{a}-{b}" if a != b else f"{a}": answer for a, b, answer in spans}


def asked(row, recorded):
    if "error" in recorded:
        return {"error": recorded["error"]}
    return {name: value for name, value in recorded["facts"].items()
            if value not in (None, False) and not row["id"].startswith(UNASKED.get(name, ()))}


def add(release, recorded):
    patch, rows = int(release.rpartition(".")[2]), read()
    answers = {line["id"]: line for line in map(json.loads, recorded.read_text(encoding="utf-8").splitlines())}
    for row in rows:
        if row["id"] in answers:
            row["releases"] = by_range({**by_release(row["releases"]), patch: asked(row, answers[row["id"]])})
    FILE.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["cases"]:
        for case in read():
            print(json.dumps({k: v for k, v in case.items() if k != "releases"}))
    elif len(sys.argv) == 4 and sys.argv[1] == "add":
        add(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        sys.exit(__doc__)
