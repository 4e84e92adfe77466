#!/usr/bin/env python3
"""Draw launches that nobody wrote down: recorded launches with other options, models, variables and cards.

  fresh.py RELEASE COUNT SEED OUT     writes OUT/cases.jsonl and OUT/models, for record.py and check.py (`./dev fresh`)

Six of ten models are changed in one to three fields: another model's value or an odd one, a field less, a field more.
"""
import copy
import json
import pathlib
import random
import re
import sys

import facts

CONFIGS = facts.HERE.parents[1] / "configs/models"
ODD = [0, 1, -1, 2, 3, 7, 64, 128, 4096, 1.5, True, False, None, "", "x", "auto", [], [1], {}, "fp8", ["full_attention"]]
# What the recording itself chooses anew, or reads from the machine it runs on.
OWN_ANSWER = re.compile(r"--(disaggregation-ib-device|lora-paths|mooncake-ib-device|random-seed)|\{config\}")


def groups_of(args):
    """[[option, values…]] of the options that can stand in any launch."""
    return [g for g in facts.words_of(args) if g[0].startswith("--") and not OWN_ANSWER.match(g[0]) and "{" not in " ".join(g)]


def places(config):
    """Where fields stand: the configuration itself and the objects in it."""
    return [config] + [p for value in config.values() if isinstance(value, dict) for p in places(value)]


def changed(rng, config, fields):
    """The configuration with one to three fields that are not its own."""
    config = copy.deepcopy(config)
    for _ in range(rng.randint(1, 3)):
        place = rng.choice([p for p in places(config) if p] or [config])
        way = rng.random()
        key = rng.choice(sorted(place)) if place and way < 0.85 else rng.choice(sorted(fields))
        if way < 0.15:
            place.pop(key, None)
        elif way < 0.35:
            place[key] = rng.choice(ODD)
        else:
            place[key] = copy.deepcopy(rng.choice(fields.get(key, ODD)))
    return config


def fields_of(models):
    """{field: values that models have for it}"""
    fields = {}
    for config in models.values():
        for place in places(config):
            for key, value in place.items():
                fields.setdefault(key, []).append(value)
    return fields


def launches(rng, count, rows, models):
    """Cases, and the changed models that they name."""
    fields, made, cases = fields_of(models), {}, []
    groups = [g for row in rows for g in groups_of(row["args"])]
    cards = [row["device"] for row in rows if row.get("device")]
    variables = [pair for row in rows for pair in (row.get("env") or {}).items()]
    names = sorted(models)
    for index in range(count):
        name = rng.choice(names)
        if rng.random() < 0.6:
            made[changed_name := f"fresh-{index}-{name}"] = changed(rng, models[name], fields)
            name = changed_name
        drawn = [["--model-path", "{model}"], *(rng.choice(groups) for _ in range(rng.randint(0, 5)))]
        if rng.random() < 0.6:
            drawn.append(["--device", "xpu"])
        if rng.random() < 0.5:
            drawn.append(["--trust-remote-code"])
        rng.shuffle(drawn)
        case = {"id": f"fresh-{index:05d}", "args": [w for g in drawn for w in g], "model": name}
        if rng.random() < 0.3:
            case["device"] = rng.choice(cards)
        if rng.random() < 0.15:
            case["env"] = dict(rng.choice(variables) for _ in range(rng.randint(1, 2)))
        cases.append(case)
    return cases, made


def main():
    release, count, seed, out = sys.argv[1:]
    folder, rng = pathlib.Path(out), random.Random(int(seed))
    models = facts.all_models() | {p.stem: json.loads(p.read_text(encoding="utf-8"))["config"] for p in sorted(CONFIGS.glob("*.json"))}
    cases, made = launches(rng, int(count), facts.read(release)[1], models)
    facts.write_models(models | made, folder / "models")
    (folder / "cases.jsonl").write_text("".join(json.dumps(c) + "\n" for c in cases), encoding="utf-8")


if __name__ == "__main__":
    main()
