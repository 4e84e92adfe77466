#!/usr/bin/env python3
"""Find launches that tell surviving mutants from the program, to be recorded with the real releases.

  aim.py BUILD SURVIVORS OUT [--draws N] [--seed S]

SURVIVORS is what `mutate.py --survivors` wrote. Launches recorded in any release are tried in the release that the
mutant acts in, then those that hold another element of the mutant's set with its own in that place (a value, an
architecture, a key of the configuration, a variable), then changes of them: another model (each architecture that the
sources name among them), an option more or less, an environment variable more. OUT/<release>.jsonl are the cases found, OUT/models their models: record them with
tests/parity/record.py and add them with tests/parity/facts.py, unless the release disagrees, which is a fault of ours.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "parity"), str(HERE.parents[1] / "configs")]
import check  # noqa: E402
import facts  # noqa: E402
import mutate  # noqa: E402
import ranges  # noqa: E402
import sites  # noqa: E402

CHUNK = 4000
SWAPS = 40  # launches of each element beside one
ROWS_BESIDE = 6
KEYS = {"outcome", "kind", "flag", "stage", "exception", "function", "resolved", "trace", "writes", "warnings"}


def architecture_models(models):
    """Every architecture that a source names, in the configuration of a model that is like it."""
    named = set()
    for path in sites.sources():
        if "/facts/" in str(path) or "/resolve/" in str(path):
            named |= set(re.findall(r'"([A-Z]\w+(?:For\w+|Model|NextN|MTP|DSpark))"', path.read_text(encoding="utf-8")))
    like = {"mla": models["deepseek-v2-lite-chat"], "dense": models["qwen3-0.6b"], "moe": models["qwen3-30b-a3b"]}
    return {f"a-{kind}-{name.lower()}": {**config, "architectures": [name]} for name in sorted(named) for kind, config in like.items()}


def change(rng, case, groups, models, variables):
    """A launch like this one."""
    new = {k: v for k, v in case.items() if k != "config"}
    own = [g for g in facts.words_of(case["args"]) if "{config}" not in g]
    for _ in range(rng.randint(1, 3)):
        way = rng.random()
        if way < 0.3:
            new["model"] = rng.choice(models)
        elif way < 0.8:
            own.append(rng.choice(groups))
        elif way < 0.9 and len(own) > 2:
            own.pop(rng.randrange(len(own)))
        else:
            new["env"] = {**(new.get("env") or {}), rng.choice(variables): rng.choice(["0", "1", "true", "2"])}
    new["args"] = [w for g in own for w in g]
    if not any("{model}" in w for w in new["args"]):
        new["args"] += ["--model-path", "{model}"]
    return new


def beside(mutant, mutants):
    """The other elements of the mutant's set, or of the rows around it."""
    near = [m for m in mutants if m.path == mutant.path and m.kind == "element" and abs(m.line - mutant.line) <= ROWS_BESIDE]
    return {m.text for m in near if m.text != mutant.text and m.text[0] == mutant.text[0]}


def with_words(value, words):
    """A value of JSON with whole texts, keys and parts of `KEY=VALUE` replaced."""
    if isinstance(value, dict):
        return {words.get(k, k): with_words(v, words) for k, v in value.items()}
    if isinstance(value, list):
        return [with_words(v, words) for v in value]
    if isinstance(value, str) and value not in words and value[:1] in ("{", "["):
        try:
            return json.dumps(with_words(json.loads(value), words))
        except ValueError:
            return value
    return words.get(value, value) if isinstance(value, str) else value


def swapped(wanted, mutants, cases, models, rng):
    """{mutant: launches that hold an element beside its own, with its own in that place}; their models join the others."""
    texts = {n: json.dumps(config) for n, config in models.items()}
    said = [json.dumps([c["args"], c.get("env")]) for c in cases]
    found = collections.defaultdict(list)
    for mutant in wanted:
        own = mutant.text.strip('"')
        for other in sorted(beside(mutant, mutants)):
            word = other.strip('"')
            holding = {n for n, text in texts.items() if f'"{word}"' in text}
            like = [c for c, text in zip(cases, said) if c.get("model") in holding or word in text]
            for case in rng.sample(like, min(SWAPS, len(like))):
                new = with_words({k: v for k, v in case.items() if k != "model"}, {word: own})
                new["model"] = name = case.get("model")
                if name in holding:
                    new["model"] = re.sub(r"[^\w.-]", "-", f"w-{name}-{own}".lower())
                    models[new["model"]] = with_words(models[name], {word: own})
                found[mutant].append(new)
    return found


def drawn(folder, count, seed, wanted, mutants):
    """Every recorded launch once and `count` changes of them; those of `swapped`; the models of all."""
    models, cases, seen = {}, [], set()
    for release in facts.releases():
        own, rows = facts.read(release)
        models.update(own)
        for row in rows:
            case = {k: row[k] for k in facts.LAUNCH if k in row and k != "id"}
            if (text := json.dumps(case, sort_keys=True)) not in seen:
                seen.add(text)
                cases.append(case)
    made = architecture_models(models)
    models.update(made)
    rng = random.Random(seed)
    swaps = swapped(wanted, mutants, cases, models, rng)
    facts.write_models(models, folder / "models")
    groups = [g for case in cases for g in facts.words_of(case["args"]) if "{" not in "".join(g)]
    source = "".join(p.read_text(encoding="utf-8") for p in sites.sources() if "/resolve/" in str(p))
    variables = sorted(set(re.findall(r'"(SGLANG_\w+)"', source)))
    plain = [{"args": ["--model-path", "{model}"], "model": name} for name in made]
    names = [*models] * 2 + [*made]
    return plain + cases + [change(rng, rng.choice(cases), groups, names, variables) for _ in range(count)], swaps, models


class Part:
    """Some launches in a folder of their own, and what the program says of them in each release."""

    def __init__(self, out, name, cases, program):
        self.folder, self.program, self.sound = out / name, program, {}
        self.cases = [{"id": f"aim-{name}-{i:04d}", **c} for i, c in enumerate(cases)]
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / "models").exists():
            (self.folder / "models").symlink_to(out / "models")
        (self.folder / "cases.jsonl").write_text("".join(json.dumps(c) + "\n" for c in self.cases))

    def predicted(self, release):
        """(what is said of each, by which sites it comes)"""
        if release not in self.sound:
            reached = self.folder / f"reached-{release}"
            lines = mutate.run_release(self.program, self.folder, release, {"PREFLIGHT_REACHED": str(reached)})
            self.sound[release] = lines or (), {int(line) for line in reached.read_text().split()}
        return self.sound[release]

    def told_apart(self, mutant, release):
        """A launch of which the mutant says something else."""
        was, reached = self.predicted(release)
        if mutant.site % mutate.PLACES not in reached:
            return None
        now = mutate.run_release(self.program, self.folder, release, mutate.environment(mutant))
        for case, a, b in zip(self.cases, was, now or ()):
            if a == b:
                continue
            a, b = json.loads(a), json.loads(b)
            recorded = {k: v for k, v in a.items() if k in KEYS} | {"warnings": [w[:2] for w in a["warnings"]]}
            if not a.get("unmodelled") and any(check.differences(recorded, b)):
                return case
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("survivors", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--draws", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wanted = set(options.survivors.read_text(encoding="utf-8").splitlines())
    every = sites.all_sites()[0]
    mutants = [m for m in every if mutate.key(m) in wanted]
    program, out = str((options.build / "preflight_mutant").resolve()), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    cases, swaps, models = drawn(out, options.draws, options.seed, mutants, every)
    drawn_parts = [Part(out, f"drawn{start}", cases[start : start + CHUNK], program) for start in range(0, len(cases), CHUNK)]
    own_parts = {m: Part(out, f"own{m.site}", own, program) for m, own in swaps.items()}

    def seek(mutant):
        known = [r for r in reversed(ranges.releases()) if not mutant.releases or int(r.split(".")[2]) in mutant.releases]
        own = [own_parts[mutant]] if mutant in own_parts else []
        for parts in (own, drawn_parts if options.draws else ()):
            for release in known:
                for part in parts:
                    if case := part.told_apart(mutant, release):
                        return release, case
        return None

    found = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, hit in zip(mutants, pool.map(seek, mutants)):
            print(f"{mutant}: {hit[0] + ' ' + hit[1]['id'] if hit else 'nothing'}", flush=True)
            if hit and hit[1]["id"] not in found:
                found.add(hit[1]["id"])
                with open(out / f"{hit[0]}.jsonl", "a", encoding="utf-8") as file:
                    file.write(json.dumps(hit[1]) + "\n")
    print(f"aimed at {len(mutants)}, {len(found)} launches found")


if __name__ == "__main__":
    main()
