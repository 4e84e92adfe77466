#!/usr/bin/env python3
"""Be wrong in one place, and demand that something notices: what `./dev mutate` runs.

  mutate.py BUILD [--list] [--sample N] [--seed S] [--only TEXT] [--survivors FILE] [--demand PERCENT]

Every site of tests/mutation/sites.py is altered, one at a time. A mutant is killed when a recorded launch is no longer
resolved as the release did it (what tests/parity/check.py compares), else when a test of TESTS fails. Both are part of
`./dev test`. Those that live and cannot matter stand in tests/mutation/equivalent.txt with the reason; they are not
counted, and one of them that dies is an error, since its reason was wrong. The last line is `killed K of N`.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "parity")]
import check  # noqa: E402
import facts  # noqa: E402
import sites  # noqa: E402

# Tests of kernels and of whole processes see neither resolution nor rules, or the program that they start is another.
TESTS = HERE / "tests.txt"
PLACES = 1 << 26  # as mutation.cpp counts them
TIMEOUT = 120  # seconds; a mutant that hangs is noticed too


def run_release(program, folder, release, env):
    command = [program, "resolve", "--sglang-version", release, "--models", f"{folder}/models", "--batch", f"{folder}/cases.jsonl"]
    try:
        run = subprocess.run(command, capture_output=True, timeout=TIMEOUT, env={**os.environ, **env}, check=False)
    except subprocess.TimeoutExpired:
        return None
    return run.stdout.splitlines() if run.returncode == 0 else None


class Recorded:
    """The recorded launches of one release: what is predicted without a mutant, and by which sites the run comes."""

    def __init__(self, program, release, folder):
        self.program, self.release, self.folder = program, release, folder
        folder.mkdir()
        _, self.rows = facts.unpack(release, folder)
        self.sound = run_release(program, folder, release, {"PREFLIGHT_REACHED": f"{folder}/reached"})
        self.reached = {int(line) for line in (folder / "reached").read_text().split()}

    def notices(self, mutant):
        lines = run_release(self.program, self.folder, self.release, environment(mutant))
        if lines is None or len(lines) != len(self.sound):
            return f"{self.release}: no answer"
        for row, was, now in zip(self.rows, self.sound, lines):
            if was != now and any(check.differences(row, json.loads(now))):
                return f"{self.release}: {row['id']}"
        return None


def environment(mutant):
    return {"PREFLIGHT_MUTANT": f"{mutant.site}:{mutant.shift}"}


def test_notices(program, mutant):
    tests = ":".join(l for l in TESTS.read_text().split("\n") if l and not l.startswith("#"))
    command = [program, f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_brief=1"]
    env = {**os.environ, **environment(mutant), "PREFLIGHT_TOOL": program.removesuffix("_tests")}
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=env, check=False)
    except subprocess.TimeoutExpired:
        return "a test does not end"
    if run.returncode == 0:
        return None
    failed = [l for l in run.stdout.splitlines() if l.startswith("[  FAILED  ]")]
    return failed[0].removeprefix("[  FAILED  ] ") if failed else "the tests crash"


def killer(mutant, recorded, tests):
    """What notices the mutant, or None."""
    place = mutant.site % PLACES
    for release in recorded:
        number = int(release.release.split(".")[2])
        if place in release.reached and (not mutant.releases or number in mutant.releases):
            if found := release.notices(mutant):
                return found
    return test_notices(tests, mutant) if tests else None


def equivalents():
    """{what a mutant reads like: why it cannot matter}"""
    file, reasons, reason = HERE / "equivalent.txt", {}, ""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            reasons[line] = reason
    return reasons


def key(mutant):
    """How equivalent.txt names a mutant: without the line's number, which moves; with the line's text."""
    text = (sites.ROOT / mutant.path).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    return f"{mutant.path}: {str(mutant).split(': ', 1)[1]}: {text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    parser.add_argument("--sample", type=int, help="as many at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="those whose description holds this text")
    parser.add_argument("--survivors", type=pathlib.Path, help="write the living there, one a line")
    parser.add_argument("--no-tests", action="store_true", help="recorded launches alone")
    parser.add_argument("--demand", type=float, default=0, help="fail when fewer of a hundred are killed")
    options = parser.parse_args()
    mutants, _ = sites.all_sites()
    mutants = [m for m in mutants if options.only in str(m)]
    if options.list:
        print("\n".join(map(str, mutants)))
        return
    known = equivalents()
    if options.sample:
        mutants = [m for m in mutants if key(m) not in known]
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    program, tests = str(options.build / "preflight_mutant"), str(options.build / "preflight_mutant_tests")
    if options.no_tests:
        tests = None
    killed, living, wrong = 0, [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # The newest first: most of what is altered acts there.
        recorded = [Recorded(program, r, pathlib.Path(folder) / r) for r in reversed(facts.releases())]
        for mutant, found in zip(mutants, pool.map(lambda m: killer(m, recorded, tests), mutants)):
            if key(mutant) in known:
                wrong += [f"{mutant}: said not to matter, killed by {found}"] if found else []
                continue
            killed += found is not None
            living += [mutant] if found is None else []
            print(f"{mutant}: {'killed by ' + found if found else 'SURVIVES'}", flush=True)
    if options.survivors:
        options.survivors.write_text("".join(f"{key(m)}\n" for m in living), encoding="utf-8")
    print("\n".join(wrong + [f"survives: {m}" for m in living]))
    print(f"killed {killed} of {killed + len(living)}")
    sys.exit(1 if wrong or killed < options.demand / 100 * (killed + len(living)) else 0)


if __name__ == "__main__":
    main()
