#!/usr/bin/env python3
"""Demand that a recorded refusal is told under the rule of the place that raised it.

  refusal_rules.py PROGRAM RELEASE       over the recorded refusals of that release; exit status 1 when one has another rule

A step names the rule where it refuses, and RF001, the rule for the rest, is what it says when it names none: a refusal that
forgot its rule reads like one that has none. What the release raised, its exception and function, has a rule of its own where
src/resolve/core/refusal_sites.cpp names the place: that one; one of several, or RF001, where words of the message tell them
apart, which are not recorded; and RF001 where it names no such place.
"""
import collections
import pathlib
import re
import sys
import tempfile

import facts

ROOT = pathlib.Path(__file__).resolve().parents[2]
REST = "RF001"


def rule_ids():
    text = (ROOT / "include/preflight/refusal_rule.h").read_text(encoding="utf-8")
    return dict(zip(re.findall(r"^  (k\w+),$", text, re.M), re.findall(r'"(RF\d+)"', text)))


def sites():
    """{(exception, function without its underscore): [(rule, whether any message will do)]}"""
    text, ids, out = (ROOT / "src/resolve/core/refusal_sites.cpp").read_text(encoding="utf-8"), rule_ids(), collections.defaultdict(list)
    rows = re.findall(r'\{RF::(\w+), "(\w+)", "(\w+)",\s*(\{\}|"[^"]*")(, true)?\}', text)
    assert len(rows) == text.count("{RF::"), "a site is written otherwise than it is read here"
    for rule, exception, function, words, bare in rows:
        out[exception, function.lstrip("_")].append((ids[rule], words == "{}" and not bare))
    return out


def allowed(known):
    if not known:
        return {REST}
    rules = {rule for rule, _ in known}
    return rules if all(any_message for _, any_message in known) else rules | {REST}


def main():
    program, release = sys.argv[1:]
    places = sites()
    with tempfile.TemporaryDirectory() as folder:
        _, recorded = facts.unpack(release, pathlib.Path(folder))
        refused = [row for row in recorded if row["outcome"] == "error"]
        cases = [{key: row[key] for key in facts.LAUNCH if key in row} for row in refused]
        told = facts.checked(program, release, pathlib.Path(folder) / "models", cases, "--no-fixes", "--fail-on", "never")
    bad = 0
    for row in refused:
        rules = [f["rule"] for f in told[row["id"]]["findings"] if f["rule"].startswith("RF")]
        may_be = allowed(places.get((row["exception"], row["function"].lstrip("_"))))
        if rules and rules[0] not in may_be:
            bad += 1
            print(f"  {row['id']}: {row['exception']} in {row['function']} is told under {rules[0]}, not {sorted(may_be)}")
    print(f"  {len(refused)} refusals, {bad} under another rule")
    sys.exit(1 if bad or not refused else 0)


if __name__ == "__main__":
    main()
