"""Recorded launches of real releases: what they are and where they lie.

tests/parity/<release>.jsonl.gz holds one JSON object a line. The first is {"models": {name: config.json}}; each other
one is a launch and what the release did with it:

  id, args, model, device, env, config    the launch, as `resolve --batch` takes it
  outcome                                 "ok", "usage" or "error"
  kind, flag                              of a usage error
  stage, exception, function              of an error
  warnings                                [[level, function], …] in order
  resolved, trace, writes                 of an accepted launch: values, and the chain of changes
"""
import gzip
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
LAUNCH = ("id", "args", "model", "device", "env", "config")


def releases():
    names = [f.name.removesuffix(".jsonl.gz") for f in HERE.glob("*.jsonl.gz")]
    return sorted(names, key=lambda n: [int(x) for x in n.split(".")])


def read(release):
    with gzip.open(HERE / f"{release}.jsonl.gz", "rt", encoding="utf-8") as file:
        models = json.loads(next(file))["models"]
        return models, [json.loads(line) for line in file]


def unpack(release, folder):
    """Writes the models and the cases under `folder`; the path of the cases, and the recorded rows."""
    models, rows = read(release)
    for name, config in models.items():
        directory = folder / "models" / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "config.json").write_text(json.dumps(config))
    cases = folder / "cases.jsonl"
    cases.write_text("".join(json.dumps({k: row[k] for k in LAUNCH if k in row}) + "\n" for row in rows))
    return cases, rows
