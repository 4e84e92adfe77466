#!/usr/bin/env python3
"""Be wrong in one place, and demand that something notices: what `./dev mutate` runs.

  mutate.py BUILD [--list] [--sample N] [--seed S] [--only TEXT] [--log FILE] [--survivors FILE] [--demand PERCENT]

Every site of tests/mutation/sites.py is altered, one at a time. A mutant is killed when a recorded launch is no longer
resolved as the release did it (what tests/parity/check.py compares), else when a test of TESTS fails, else, where memory
is counted, when a sheet is not the recorded one (tests/parity/check_weights.py, check_pools.py), and where reasons are
given, when a recorded change has none (reasons.py). All are part of `./dev test`. Those that live and cannot matter
stand in tests/mutation/equivalent.txt with the reason; they are counted apart, and one of them that dies is an error,
since its reason was wrong. One that does not end in time is tried again with nothing beside it; one that never ends is
counted apart too. The last line is `killed K of N`.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "parity")]
import check  # noqa: E402
import facts  # noqa: E402
import sites  # noqa: E402

# Tests of kernels and of whole processes see neither resolution nor rules, or the program that they start is another.
TESTS = HERE / "tests.txt"
# What sizes a sheet is compared with recorded sheets too, and what gives a change its reason with recorded changes, by a
# process for each: last, as it takes longest.
SIZES, REASONS = ("src/plan/", "src/facts/kinds.cpp"), ("src/rules/change_reasons",)
LATER = ((SIZES, "check_weights.py", (facts.releases()[-1],)), (SIZES, "check_pools.py", (facts.releases()[-1],)),
         (REASONS, "reasons.py", ("0.5.23", "0.5.18", "0.5.14", "0.5.11")))
PLACES = 1 << 26  # as mutation.cpp counts them
TIMEOUT = 120  # seconds, several times what the slowest takes on a busy machine
LONG_TIMEOUT = 600  # alone


class TimedOut(Exception):
    pass


def run(command, env, timeout):
    try:
        return subprocess.run(command, capture_output=True, timeout=timeout, env={**os.environ, **env}, check=False)
    except subprocess.TimeoutExpired as error:
        raise TimedOut from error


def run_release(program, folder, release, env, timeout=LONG_TIMEOUT):
    command = [program, "resolve", "--sglang-version", release, "--models", f"{folder}/models", "--batch", f"{folder}/cases.jsonl"]
    done = run(command, env, timeout)
    return done.stdout.splitlines() if done.returncode == 0 else None


class Recorded:
    """The recorded launches of one release: what is predicted without a mutant, and by which sites the run comes."""

    def __init__(self, program, release, folder):
        self.program, self.release, self.folder = program, release, folder
        folder.mkdir()
        _, self.rows = facts.unpack(release, folder)
        self.sound = run_release(program, folder, release, {"PREFLIGHT_REACHED": f"{folder}/reached"})
        self.reached = {int(line) for line in (folder / "reached").read_text().split()}

    def notices(self, mutant, timeout):
        lines = run_release(self.program, self.folder, self.release, environment(mutant), timeout)
        if lines is None or len(lines) != len(self.sound):
            return f"{self.release}: no answer"
        for row, was, now in zip(self.rows, self.sound, lines):
            if was != now and any(check.differences(row, json.loads(now))):
                return f"{self.release}: {row['id']}"
        return None


def environment(mutant):
    return {"PREFLIGHT_MUTANT": f"{mutant.site}:{mutant.shift}"}


class Suites:
    """The suites of TESTS, what each takes, and by which sites it comes: the others cannot notice."""

    def __init__(self, program, folder, jobs):
        folder.mkdir()
        self.program, self.took = program, {}
        self.killers = collections.defaultdict(collections.Counter)  # of a source's mutants
        self.names = [l for l in TESTS.read_text().split("\n") if l and not l.startswith("#")]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            self.reached = dict(zip(self.names, pool.map(lambda name: self.sites_of(name, folder / name.replace("*", "")), self.names)))

    def sites_of(self, name, file):
        start = time.monotonic()
        done = self.run([name], {"PREFLIGHT_REACHED": str(file)}, LONG_TIMEOUT)
        if done.returncode != 0:
            sys.exit(f"{name} fails without a mutant:\n{done.stdout.decode(errors='replace')}")
        self.took[name] = time.monotonic() - start
        return {int(line) for line in file.read_text().split()}

    def run(self, names, env, timeout):
        env = {**env, "PREFLIGHT_TOOL": self.program.removesuffix("_tests")}
        return run([self.program, f"--gtest_filter={':'.join(names)}", "--gtest_fail_fast", "--gtest_brief=1"], env, timeout)

    def in_order(self, mutant):
        """What killed others of this source, what is quick, and the rest."""
        came_by = [n for n in self.names if mutant.site % PLACES in self.reached[n]]
        mean = sum(self.took.values()) / len(self.took)
        first = [n for n, _ in self.killers[mutant.path].most_common(2) if n in came_by]
        others = [n for n in came_by if n not in first]
        groups = first, [n for n in others if self.took[n] < mean], [n for n in others if self.took[n] >= mean]
        return [g for g in groups if g]

    def notice(self, mutant, timeout):
        for names in self.in_order(mutant):
            done = self.run(names, environment(mutant), timeout)
            if done.returncode != 0:
                failed = [l for l in done.stdout.decode(errors="replace").splitlines() if l.startswith("[  FAILED  ]")]
                if not failed:
                    return "the tests crash"
                test = failed[0].split()[3]
                self.killers[mutant.path][f"{test.split('.')[0]}.*"] += 1
                return test
        return None


def later_checks_notice(mutant, program, timeout):
    for sources, script, releases in LATER:
        for release in releases if mutant.path.startswith(sources) else ():
            command = [sys.executable, str(HERE.parent / "parity" / script), program, release]
            if run(command, environment(mutant), timeout).returncode != 0:
                return f"{script} {release}"
    return None


def killer(mutant, recorded, tests, timeout):
    """What notices the mutant, or None."""
    place = mutant.site % PLACES
    for release in recorded:
        may_differ = {release.release, int(release.release.split(".")[2])} & set(mutant.releases)
        if place in release.reached and (not mutant.releases or may_differ):
            if found := release.notices(mutant, timeout):
                return found
    if not tests:
        return None
    return tests.notice(mutant, timeout) or later_checks_notice(mutant, tests.program.removesuffix("_tests"), timeout)


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
    """How equivalent.txt names a mutant: without the line's number, which moves; with the line's text, and which one of
    the lines of that text it is where it is not the first."""
    lines = [line.strip() for line in (sites.ROOT / mutant.path).read_text(encoding="utf-8").splitlines()[: mutant.line]]
    nth = lines.count(lines[-1])
    return f"{mutant.path}: {str(mutant).split(': ', 1)[1]}: {lines[-1]}" + (f" ({nth})" if nth > 1 else "")


class Log:
    """What became of each mutant. Kept in a file, a run that was ended goes on where it was."""

    def __init__(self, path, mutants):
        self.path, self.names, self.fates = path, {}, {}
        seen = collections.Counter()
        for mutant in mutants:
            seen[key(mutant)] += 1
            self.names[mutant] = f"{key(mutant)}\t{seen[key(mutant)]}"  # which of those alike in one line
        if path and path.exists():
            self.fates = dict(line.rsplit("\t", 1) for line in path.read_text(encoding="utf-8").splitlines())

    def fate(self, mutant):
        return self.fates.get(self.names[mutant])

    def add(self, mutant, fate):
        self.fates[self.names[mutant]] = fate
        print(f"{mutant}: {fate}", flush=True)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(f"{self.names[mutant]}\t{fate}\n")


def try_all(mutants, recorded, tests, log, jobs):
    def fate(mutant, timeout=TIMEOUT):
        try:
            found = killer(mutant, recorded, tests, timeout)
        except TimedOut:
            return "does not end"
        return f"killed by {found}" if found else "survives"

    left = [m for m in mutants if log.fate(m) in (None, "does not end")]
    slow = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutant, found in zip(left, pool.map(fate, left)):
            if found == "does not end":
                slow.append(mutant)
            else:
                log.add(mutant, found)
    for mutant in slow:
        log.add(mutant, fate(mutant, LONG_TIMEOUT))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    parser.add_argument("--files", action="store_true", help="print the files of the mutants that would be tried and end")
    parser.add_argument("--sample", type=int, help="as many at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="those whose description holds this text")
    parser.add_argument("--survivors", type=pathlib.Path, help="write the living there, one a line")
    parser.add_argument("--log", type=pathlib.Path, help="keep there what became of each, and go on from what it holds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-tests", action="store_true", help="recorded launches alone")
    parser.add_argument("--demand", type=float, default=0, help="fail when fewer of a hundred are killed")
    options = parser.parse_args()
    mutants, _ = sites.all_sites()
    log = Log(options.log, mutants)
    mutants = [m for m in mutants if options.only in str(m)]
    if options.list:
        print("\n".join(map(str, mutants)))
        return
    known = equivalents()
    if options.sample:
        mutants = [m for m in mutants if key(m) not in known]
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    if options.files:
        print(";".join(sorted({m.path for m in mutants})))
        return
    program = str((options.build / "preflight_mutant").resolve())
    with tempfile.TemporaryDirectory() as folder:
        # The newest first: most of what is altered acts there.
        recorded = [Recorded(program, r, pathlib.Path(folder) / r) for r in reversed(facts.releases())]
        tests = None if options.no_tests else Suites(f"{program}_tests", pathlib.Path(folder) / "suites", options.jobs)
        try_all(mutants, recorded, tests, log, options.jobs)
    fates = {m: log.fate(m) for m in mutants}
    wrong = [f"{m}: said not to matter, {f}" for m, f in fates.items() if key(m) in known and f.startswith("killed")]
    listed = [m for m, f in fates.items() if key(m) in known and f == "survives"]
    endless = [m for m, f in fates.items() if f == "does not end"]
    living = [m for m, f in fates.items() if key(m) not in known and f == "survives"]
    killed = sum(key(m) not in known and f.startswith("killed") for m, f in fates.items())
    if options.survivors:
        options.survivors.write_text("".join(f"{key(m)}\n" for m in living), encoding="utf-8")
    print("\n".join([*(f"cannot matter: {m}: {known[key(m)]}" for m in listed), *wrong, *(f"does not end: {m}" for m in endless),
                     *(f"survives: {m}" for m in living)]))
    print(f"{len(mutants)} mutants: {len(listed)} that cannot matter, {len(endless)} that do not end")
    print(f"killed {killed} of {killed + len(living)}")
    sys.exit(1 if wrong or killed < options.demand / 100 * (killed + len(living)) else 0)


if __name__ == "__main__":
    main()
