#!/usr/bin/env python3
"""Find launches that tell surviving mutants from the program, to be recorded with the real releases.

  aim.py BUILD SURVIVORS OUT [--draws N] [--seed S]

SURVIVORS is what `mutate.py --survivors` wrote. Launches recorded in any release are tried in the release that the
mutant acts in, then changes of them: another model (each architecture that the sources name among them), an option more
or less, an environment variable more. OUT/<release>.jsonl are the cases found, OUT/models their models: record them with
tests/parity/record.py and add them with tests/parity/facts.py, unless the release disagrees, which is a fault of ours.
"""
import argparse
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
KEYS = {"outcome", "kind", "flag", "stage", "exception", "function", "resolved", "trace", "writes", "warnings"}


def architecture_models(models):
    """Every architecture that a source names, in the configuration of a model that is like it."""
    named = set()
    for path in sites.sources():
        if "/facts/" in str(path) or "/resolve/" in str(path):
            named |= set(re.findall(r'"([A-Z]\w+(?:For\w+|Model|NextN|MTP|DSpark))"', path.read_text(encoding="utf-8")))
    like = {"mla": models["deepseek-v2-lite-chat"], "dense": models["qwen3-0.6b"], "moe": models["qwen3-30b-a3b"]}
    return {f"a-{kind}-{name.lower()}": {**config, "architectures": [name]} for name in sorted(named) for kind, config in like.items()}


def words_of(args):
    """[[option, values…]]"""
    groups = []
    for word in args:
        if word.startswith("--") or not groups:
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def change(rng, case, groups, models, variables):
    """A launch like this one."""
    new = {k: v for k, v in case.items() if k != "config"}
    own = [g for g in words_of(case["args"]) if "{config}" not in g]
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


def drawn(folder, count, seed):
    """Every recorded launch once, and `count` changes of them."""
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
    facts.write_models(models, folder / "models")
    rng = random.Random(seed)
    groups = [g for case in cases for g in words_of(case["args"]) if "{" not in "".join(g)]
    source = "".join(p.read_text(encoding="utf-8") for p in sites.sources() if "/resolve/" in str(p))
    variables = sorted(set(re.findall(r'"(SGLANG_\w+)"', source)))
    plain = [{"args": ["--model-path", "{model}"], "model": name} for name in made]
    names = [*models] * 2 + [*made]
    return plain + cases + [change(rng, rng.choice(cases), groups, names, variables) for _ in range(count)], models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("survivors", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--draws", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wanted = set(options.survivors.read_text(encoding="utf-8").splitlines())
    mutants = [m for m in sites.all_sites()[0] if mutate.key(m) in wanted]
    program, out = str((options.build / "preflight_mutant").resolve()), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    cases, models = drawn(out, options.draws, options.seed)
    chunks = []
    for start in range(0, len(cases), CHUNK):
        folder = out / f"chunk{start}"
        folder.mkdir(exist_ok=True)
        if not (folder / "models").exists():
            (folder / "models").symlink_to(out / "models")
        part = [{"id": f"aim-{start + i:06d}", **c} for i, c in enumerate(cases[start : start + CHUNK])]
        (folder / "cases.jsonl").write_text("".join(json.dumps(c) + "\n" for c in part))
        chunks.append((folder, part))
    sound, found = {}, {}

    def predicted(release, number):
        """What the program says of a chunk, and by which sites it comes."""
        if (release, number) not in sound:
            folder = chunks[number][0]
            reached = folder / f"reached-{release}"
            lines = mutate.run_release(program, folder, release, {"PREFLIGHT_REACHED": str(reached)})
            sound[release, number] = lines, {int(line) for line in reached.read_text().split()}
        return sound[release, number]

    def seek(mutant):
        known = ranges.releases()
        for release in [r for r in reversed(known) if not mutant.releases or int(r.split(".")[2]) in mutant.releases]:
            for number, (folder, part) in enumerate(chunks):
                was, reached = predicted(release, number)
                if mutant.site % mutate.PLACES not in reached:
                    continue
                now = mutate.run_release(program, folder, release, mutate.environment(mutant))
                for case, a, b in zip(part, was or (), now or ()):
                    if a != b:
                        a, b = json.loads(a), json.loads(b)
                        if not a.get("unmodelled") and any(check.differences({k: v for k, v in a.items() if k in KEYS} | {
                                "warnings": [w[:2] for w in a["warnings"]]}, b)):
                            return release, case
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, hit in zip(mutants, pool.map(seek, mutants)):
            print(f"{mutant}: {hit[0] + ' ' + hit[1]['id'] if hit else 'nothing'}", flush=True)
            if hit:
                found.setdefault(hit[0], {})[hit[1]["id"]] = hit[1]
    for release, rows in found.items():
        (out / f"{release}.jsonl").write_text("".join(json.dumps(c) + "\n" for c in rows.values()))
    print(f"aimed at {len(mutants)}, {sum(map(len, found.values()))} launches found")


if __name__ == "__main__":
    main()
