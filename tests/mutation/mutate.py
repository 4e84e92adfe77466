#!/usr/bin/env python3
"""Be wrong in one place, and demand that something notices: what `./dev mutate` runs.

  mutate.py BUILD [--list] [--sample N] [--seed S] [--only TEXT] [--quick] [--log FILE] [--survivors FILE] [--demand PERCENT]

Every site of tests/mutation/sites.py is altered: many at once, to see what they change together, then each by itself
where something changed. A mutant is killed when a recorded launch is no longer resolved as the release did it (what
tests/parity/check.py compares), else when a test of TESTS fails, else, where memory is counted, when a sheet is not the
recorded one (tests/parity/check_weights.py, check_pools.py), and where reasons are given, when a recorded change has
none (reasons.py). All are part of `./dev test`. Those that live and cannot matter stand in tests/mutation/equivalent.txt
with the reason; they are counted apart, and one of them that dies is an error, since its reason was wrong. One that does
not end in time is tried again with nothing beside it; one that never ends is counted apart too. The last line is
`killed K of N`.
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
LONG_TIMEOUT = 600  # alone, or all of a group at once
GROUP = 32  # mutants that run at once; mutation.cpp holds 256


class TimedOut(Exception):
    pass


def run(command, env, timeout):
    try:
        return subprocess.run(command, capture_output=True, timeout=timeout, env={**os.environ, **env}, check=False)
    except subprocess.TimeoutExpired as error:
        raise TimedOut from error


def run_release(program, folder, release, env, timeout=LONG_TIMEOUT, cases=None):
    command = [program, "resolve", "--sglang-version", release, "--host-memory", check.HOST_MEMORY,
               "--models", f"{folder}/models", "--batch", cases or f"{folder}/cases.jsonl"]
    done = run(command, env, timeout)
    return done.stdout.splitlines() if done.returncode == 0 else None


class Recorded:
    """The recorded launches of one release: what is predicted without a mutant, and by which sites the run comes."""

    def __init__(self, program, release, folder):
        self.program, self.release, self.folder = program, release, folder
        folder.mkdir()
        _, self.rows = facts.unpack(release, folder)
        self.cases = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        self.sound = run_release(program, folder, release, {"PREFLIGHT_REACHED": f"{folder}/reached"})
        self.reached = {int(line) for line in (folder / "reached").read_text().split()}

    def may_notice(self, mutant):
        alike = {self.release, int(self.release.split(".")[2])} & set(mutant.releases)
        return mutant.site % PLACES in self.reached and (not mutant.releases or alike)

    def differing(self, mutants, timeout, among):
        """Those rows of `among` (numbers) that are resolved otherwise with all of these mutants; None: no answer."""
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as cases:
            cases.write("".join(f"{self.cases[i]}\n" for i in among))
            cases.flush()
            lines = run_release(self.program, self.folder, self.release, environment(*mutants), timeout, cases.name)
        if lines is None or len(lines) != len(among):
            return None
        return [i for i, now in zip(among, lines)
                if now != self.sound[i] and any(check.differences(self.rows[i], json.loads(now)))]

    def notices(self, mutants, timeout):
        """{mutant: what tells it}. All at once first: what they change together is what each of them can change."""
        every = range(len(self.sound))
        rows = together(lambda: self.differing(mutants, timeout, every)) if len(mutants) > 1 else None
        found = {}
        for mutant in mutants if rows is None or rows else ():
            own = self.differing([mutant], timeout, every if rows is None else rows)
            if own is None:
                found[mutant] = f"{self.release}: no answer"
            elif own:
                found[mutant] = f"{self.release}: {self.rows[own[0]]['id']}"
        return found


def together(judge):
    """What is known of many mutants at once; None where one of them ends the run."""
    try:
        return judge()
    except TimedOut:
        return None


def environment(*mutants):
    env = {"PREFLIGHT_MUTANT": ",".join(f"{m.site}:{m.shift}" for m in mutants)}
    if all(m.releases for m in mutants):  # tests that go through releases need not look at the others
        env["PREFLIGHT_ONLY_RELEASES"] = ",".join(sorted({str(r).removeprefix("0.5.") for m in mutants for r in m.releases}))
    return env


def cases_of(program, name):
    """The tests of a suite with parameters, each by its name: together they take longer than all others."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={name}"], capture_output=True, text=True, check=True).stdout
    suite = ""
    for line in listed.splitlines():
        word = line.split()[0]
        if not line.startswith(" "):
            suite = word
        else:
            yield suite + word


class Suites:
    """The suites of TESTS, what each takes, and by which sites it comes: the others cannot notice."""

    def __init__(self, program, folder, jobs, quick):
        folder.mkdir()
        self.program, self.took, self.jobs = program, {}, jobs
        self.killers = collections.defaultdict(collections.Counter)  # of a source's mutants
        suites = [l for l in TESTS.read_text().split("\n") if l and not l.startswith("#")]
        with_parameters = [] if quick else [case for name in suites if "/" in name for case in cases_of(program, name)]
        self.names = with_parameters + [name for name in suites if "/" not in name]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            self.reached = dict(zip(self.names, pool.map(lambda name: self.sites_of(name, folder / name.replace("*", "").replace("/", "_")), self.names)))

    def sites_of(self, name, file):
        start = time.monotonic()
        done = self.run([name], {"PREFLIGHT_REACHED": str(file)}, LONG_TIMEOUT)
        if done.returncode != 0:
            sys.exit(f"{name} fails without a mutant:\n{done.stdout.decode(errors='replace')}")
        self.took[name] = time.monotonic() - start
        return {int(line) for line in file.read_text().split()}

    def run(self, names, env, timeout, *options):
        env = {**env, "PREFLIGHT_TOOL": self.program.removesuffix("_tests")}
        return run([self.program, f"--gtest_filter={':'.join(names)}", "--gtest_brief=1", *options], env, timeout)

    def may_notice(self, name, mutant):
        return mutant.site % PLACES in self.reached[name]

    def in_order(self, mutant, failing=None):
        """What killed others of this source, what is quick, and the rest; `failing`: tests that are known to be the only ones."""
        came_by = [n for n in self.names if self.may_notice(n, mutant)]
        if failing is not None:
            came_by = [n for n in came_by if any(t.startswith(n.rstrip("*")) for t in failing)]
        mean = sum(self.took.values()) / len(self.took)
        first = [n for n, _ in self.killers[mutant.path].most_common(2) if n in came_by]
        others = [n for n in came_by if n not in first]
        groups = first, [n for n in others if self.took[n] < mean], [n for n in others if self.took[n] >= mean]
        return [g for g in groups if g]

    def shares(self, names):
        """The names dealt out to as many runs as there are jobs, so that all take about as long."""
        shares = [[] for _ in range(min(self.jobs, len(names)))]
        for name in sorted(names, key=self.took.get, reverse=True):
            min(shares, key=lambda share: sum(map(self.took.get, share))).append(name)
        return shares

    def failing(self, mutants, timeout):
        """{test: launches that its output names} of what fails with all of these mutants; None where they end the run."""
        names = [n for n in self.names if any(self.may_notice(n, m) for m in mutants)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            parts = list(pool.map(lambda share: self.failing_of(share, mutants, timeout), self.shares(names)))
        if None in parts:
            return None
        launches = sorted({launch for part in parts for launches in part.values() for launch in launches})
        return {test: launches for part in parts for test in part}

    def failing_of(self, names, mutants, timeout):
        done = self.run(names, environment(*mutants), timeout)
        text = done.stdout.decode(errors="replace")
        failed = [l.split()[3].rstrip(",") for l in text.splitlines() if l.startswith("[  FAILED  ]") and "." in l]
        if done.returncode not in (0, 1) or bool(failed) != (done.returncode == 1):
            return None
        return dict.fromkeys(failed, sorted({l for l in text.splitlines() if l.startswith("> ")}))

    def first_failing(self, names, mutant, timeout, env=None):
        done = self.run(names, {**environment(mutant), **(env or {})}, timeout, "--gtest_fail_fast")
        if done.returncode == 0:
            return None
        failed = [l for l in done.stdout.decode(errors="replace").splitlines() if l.startswith("[  FAILED  ]")]
        if not failed:
            return "the tests crash"
        test = failed[0].split()[3].rstrip(",")
        suite = f"{test.split('.')[0]}.*"
        self.killers[mutant.path][suite if suite in self.took else test] += 1
        return test

    def notices(self, mutants, timeout):
        """{mutant: the test that tells it}, all at once first."""
        tests = together(lambda: self.failing(mutants, LONG_TIMEOUT)) if len(mutants) > 1 else None
        found = {}
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as launches:
            launches.write("\n".join(next(iter((tests or {}).values()), [])))
            launches.flush()
            env = {"PREFLIGHT_ONLY_LAUNCHES": launches.name} if tests else {}
            for mutant in mutants:
                for suites in self.in_order(mutant, tests):
                    names = suites if tests is None else [t for t in tests if any(t.startswith(n.rstrip("*")) for n in suites)]
                    if test := self.first_failing(names, mutant, timeout, env):
                        found[mutant] = test
                        break
        return found


def later_checks_notice(mutant, program, timeout):
    for sources, script, releases in LATER:
        for release in releases if mutant.path.startswith(sources) else ():
            command = [sys.executable, str(HERE.parent / "parity" / script), program, release]
            if run(command, environment(mutant), timeout).returncode != 0:
                return f"{script} {release}"
    return None


def killers(mutants, recorded, tests, timeout):
    """{mutant: what notices it}"""
    found = {}
    for release in recorded:
        if able := [m for m in mutants if m not in found and release.may_notice(m)]:
            found.update(release.notices(able, timeout))
    if tests and (left := [m for m in mutants if m not in found]):
        found.update(tests.notices(left, timeout))
        for mutant in left:
            if mutant not in found and (later := later_checks_notice(mutant, tests.program.removesuffix("_tests"), timeout)):
                found[mutant] = later
    return found


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


def in_groups(mutants):
    """Mixed, as one of a source may hide what another of it does; no two of a group in one place, and those together
    that the same releases can notice."""
    groups = collections.defaultdict(list)
    for mutant in random.Random(1).sample(mutants, len(mutants)):
        of_releases = groups[mutant.releases]
        free = (g for g in of_releases[-8:] if len(g) < GROUP and all(m.site != mutant.site for m in g))
        group = next(free, None)
        if group is None:
            of_releases.append(group := [])
        group.append(mutant)
    mixed = [group for alike in groups.values() for group in alike]
    random.Random(1).shuffle(mixed)
    return mixed


def try_all(mutants, recorded, tests, log, jobs):
    def fates(group, timeout=TIMEOUT):
        try:
            found = killers(group, recorded, tests, timeout)
        except TimedOut:
            return dict.fromkeys(group, "does not end")
        return {m: f"killed by {found[m]}" if m in found else "survives" for m in group}

    groups = in_groups([m for m in mutants if log.fate(m) in (None, "does not end")])
    slow = []
    if tests:
        tests.jobs = max(1, jobs // max(1, len(groups)))  # what other groups leave idle
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        # As they end: a log that a run leaves behind holds all that was done.
        for done in concurrent.futures.as_completed([pool.submit(fates, group) for group in groups]):
            found = done.result()
            slow += [m for m, fate in found.items() if fate == "does not end"]
            for mutant in found:
                if mutant not in slow:
                    log.add(mutant, found[mutant])
    for mutant in slow:
        log.add(mutant, fates([mutant], LONG_TIMEOUT)[mutant])


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
    parser.add_argument("--quick", action="store_true", help="without the walks, which take most of the time and kill what nothing else does")
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
        tests = None if options.no_tests else Suites(f"{program}_tests", pathlib.Path(folder) / "suites", options.jobs, options.quick)
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
