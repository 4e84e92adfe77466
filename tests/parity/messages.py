#!/usr/bin/env python3
"""Demand that `explain` leads from a release's own words to the rule that `check` gives for the launch.

  messages.py PROGRAM RECORDED [RELEASE...] [--list]

Every distinct refusal that was recorded (exception, function, words) is handed to `explain` twice, as the last line of a
traceback and with the traceback's line of the function. The rule it names first must be the one that `check` tells of that
launch, and none where check tells the rule for the rest, RF001. --list shows each that differs. Exit status 1 under 99 %.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import findings

GENERIC = "RF001"
WANTED = 0.99


def refusals(program, recorded, releases):
    """{(exception, function, words): rules that check gives, over all launches that ended so}"""
    out = collections.defaultdict(collections.Counter)
    for release in releases:
        cases = findings.lines(recorded / release / "cases.jsonl.gz")
        rows = findings.check(program, recorded, release, cases)
        for o in findings.lines(recorded / release / "outcomes.jsonl.gz"):
            if o["outcome"] == "ok":
                continue
            rules = [f["rule"] for f in findings.errors(rows[o["id"]]) if f["rule"][:2] in ("RF", "US", "AR")]
            out[(o.get("exception", ""), o.get("function", ""), o["message"])][rules[0] if rules else "none"] += 1
    return out


def named(program, text):
    run = subprocess.run([program, "explain", text], capture_output=True, text=True)
    rule = re.search(r"^([A-Z]{2}\d{3}) (?:error|warning|change|note)", run.stdout, re.M)
    if rule:
        return rule[1]
    return GENERIC if GENERIC in run.stdout else "nothing"


def pasted(refusal):
    exception, function, words = refusal
    last = (f"{exception}: {words}" if words else exception) if exception else f"launch_server.py: error: {words}"
    yield last
    if exception:
        # The recorded outcomes have no file: one of SGLang that is not the place would contradict it.
        yield f'Traceback (most recent call last):\n  File "/x/x.py", line 7, in {function}\n    f()\n{last}'


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    program, recorded, *releases = [a for a in sys.argv[1:] if not a.startswith("--")]
    recorded = pathlib.Path(recorded)
    releases = releases or sorted(p.name for p in recorded.iterdir() if (p / "outcomes.jsonl.gz").exists())
    wanted = refusals(program, recorded, releases)
    asked = [(r, form, text) for r in wanted for form, text in enumerate(pasted(r))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda a: named(program, a[2]), asked))
    count, good = collections.Counter(), collections.Counter()
    for (refusal, form, _), answer in zip(asked, answers):
        count[form] += 1
        if answer in wanted[refusal]:
            good[form] += 1
        elif "--list" in options:
            print(f"{'/'.join(wanted[refusal])} told {answer}: {refusal[0]} in {refusal[1]} "
                  f"{'(traceback)' if form else ''}: {refusal[2][:150]!r}")
    for form, name in enumerate(("last line alone", "with its function")):
        print(f"{name}: {good[form]} of {count[form]} refusals lead to the rule of check")
    return int(any(good[f] < WANTED * count[f] for f in count))


if __name__ == "__main__":
    sys.exit(main())
