#!/usr/bin/env python3
"""Recorded launches of real releases: what they are and where they lie.

  facts.py models DIR [COUNT [SEED]]     writes the models of all recorded launches there, or some of them
  facts.py add RELEASE ROWS MODELS       adds rows (record.py launches) and the models they name to what is recorded

tests/parity/<release>.jsonl.gz holds one JSON object a line. The first is {"models": {name: config.json}}; each other
one is a launch and what the release did with it:

  id, args, model, device, env, config    the launch, as `resolve --batch` takes it
  outcome                                 "ok", "usage" or "error"
  kind, flag                              of a usage error
  stage, exception, function              of an error
  warnings                                [[level, function], …] in order
  resolved, trace, writes                 of an accepted launch: values, and the chain of changes
"""
import concurrent.futures
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LAUNCH = ("id", "args", "model", "device", "env", "config")


FEW = 30  # launches a run: all lines of a batch share one budget of tries, and none should go without
MANY = 300  # of a run that tries nothing


def checked(program, release, models, cases, *options):
    """{id: what `check --batch` says of the launch}, asked of as many processes as there are processors."""
    few = MANY if "--no-fixes" in options else FEW
    command = [program, "check", "--batch", "-", "--sglang-version", release, "--models", str(models), *options]

    def told(part):
        lines = "".join(json.dumps(c) + "\n" for c in part)
        run = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        assert run.returncode in (0, 1) and run.stdout, run.stderr
        return [json.loads(line) for line in run.stdout.splitlines()]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        parts = threads.map(told, (cases[first:first + few] for first in range(0, len(cases), few)))
        return {row["id"]: row for part in parts for row in part}


def releases():
    names = [f.name.removesuffix(".jsonl.gz") for f in HERE.glob("*.jsonl.gz")]
    return sorted(names, key=lambda n: [int(x) for x in re.findall(r"\d+", n)])


def read(release):
    with gzip.open(HERE / f"{release}.jsonl.gz", "rt", encoding="utf-8") as file:
        models = json.loads(next(file))["models"]
        return models, [json.loads(line) for line in file]


def write(release, models, rows):
    lines = [json.dumps(x, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for x in ({"models": models}, *rows)]
    # Without name and time, so that the same rows are the same file.
    with open(HERE / f"{release}.jsonl.gz", "wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        packed.write("".join(line + "\n" for line in lines).encode())


def all_models():
    models = {}
    for release in releases():
        models.update(read(release)[0])
    return models


def write_models(models, folder):
    for name, config in models.items():
        directory = folder / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "config.json").write_text(json.dumps(config))


def unpack(release, folder, rows_file=None):
    """Writes the models and the cases under `folder`; the path of the cases, and the recorded rows."""
    if rows_file is None:
        models, rows = read(release)
    else:
        models, rows = all_models(), [json.loads(line) for line in rows_file.read_text(encoding="utf-8").splitlines()]
    write_models(models, folder / "models")
    cases = folder / "cases.jsonl"
    cases.write_text("".join(json.dumps({k: row[k] for k in LAUNCH if k in row}) + "\n" for row in rows))
    return cases, rows


def add(release, rows, folder):
    models, known = read(release) if (HERE / f"{release}.jsonl.gz").exists() else ({}, [])

    def launch(row):
        return json.dumps([row.get(k) for k in LAUNCH[1:]], sort_keys=True)

    seen = {launch(row) for row in known}
    taken = {row["id"] for row in known}
    for row in rows:
        if launch(row) in seen:
            continue
        if row["id"] in taken:
            row["id"] = f"{release}-{len(known):05d}"
        known.append(row)
        taken.add(row["id"])
        seen.add(launch(row))
    text = json.dumps([[row["model"], row["args"], row.get("config")] for row in known])
    for path in folder.glob("*/config.json"):
        if path.parent.name not in models and path.parent.name in text:
            models[path.parent.name] = json.loads(path.read_text())
    write(release, models, known)


def words_of(args):
    """[[option, values…]]"""
    groups = []
    for word in args:
        if word.startswith("--") or not groups:
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def draw(models, count, seed):
    """A few models, as many architectures as possible among them."""
    names = sorted(models)
    random.Random(seed).shuffle(names)
    first = {}
    for name in names:
        first.setdefault(str(models[name].get("architectures")), name)
    drawn = [*first.values(), *(n for n in names if n not in first.values())]
    return {n: models[n] for n in drawn[:count]}


def main():
    command, *arguments = sys.argv[1:]
    if command == "models":
        models = all_models()
        if len(arguments) > 1:
            models = draw(models, int(arguments[1]), int(arguments[2]) if len(arguments) > 2 else 1)
        write_models(models, pathlib.Path(arguments[0]))
    else:
        release, rows, models = arguments
        add(release, [json.loads(line) for line in pathlib.Path(rows).read_text(encoding="utf-8").splitlines()], pathlib.Path(models))


if __name__ == "__main__":
    main()
