#!/usr/bin/env python3
"""Demand that errors that options can mend come with a corrected argument list, and that the list is good when it is checked again.

  fix_share.py PROGRAM RELEASE [EVERY]      over the recorded launches of that release, or every so many of them; exit
                                            status 1 below 95 in 100
"""
import json
import pathlib
import sys
import tempfile

import facts

def check(program, release, folder, cases, *options):
    return facts.checked(program, release, f"{folder}/models", cases, *options)


def errors(row):
    return [f for f in row["findings"] if f["severity"] == "error"]


def options_can_help(row):
    """Not when the model's own configuration is refused, no model is named, or what stays after all else is mended has no option
    in its advice: the checkpoint is of a kind that XPU does not run, or the machine is too small for it."""
    if any(f["rule"] == "RF016" or f["fix"].startswith("the model's files")
           or f["message"].startswith("--model-path is required") for f in errors(row)):
        return False
    remaining = row.get("remaining", [])
    return not remaining or any("--" in f["fix"] for f in remaining)


def main():
    program, release, *every = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path, _ = facts.unpack(release, pathlib.Path(folder))
        # A config file's options are part of the corrected list, and its path does not outlive the run.
        cases = [c for c in map(json.loads, path.read_text().splitlines()) if "config" not in c]
        cases = cases[::int(every[0]) if every else 1]
        rows = check(program, release, folder, cases, "--fixes")
        again = []
        for case in cases:
            for number, fix in enumerate(rows[case["id"]].get("fixes", [])):
                unset = {w for c in fix["changes"] if c["kind"] == "unset" for w in c["before"]}
                env = {k: v for k, v in case.get("env", {}).items() if k not in unset} | fix.get("env", {})
                again.append({**case, "id": f"{case['id']} fix {number}", "args": fix["arguments"], "env": env})
        bad = {i: errors(r) for i, r in check(program, release, folder, again).items() if errors(r)}
    for i, found in bad.items():
        print(i, "still has", found[0]["rule"], found[0]["message"])
    mendable = {i: r for i, r in rows.items() if options_can_help(r)}
    count = sum(len(errors(r)) for r in mendable.values())
    fixed = sum(len(errors(r)) for r in mendable.values() if r.get("fixes"))
    for i, r in mendable.items():
        if errors(r) and not r.get("fixes"):
            print("no fix:", i, errors(r)[0]["rule"], errors(r)[0]["message"][:80], "|", r.get("no_fix"))
    print(f"{release}: {fixed} of {count} errors have a fix; {len(again) - len(bad)} of {len(again)} fixes hold")
    sys.exit(1 if bad or count == 0 or fixed < 0.95 * count else 0)


if __name__ == "__main__":
    main()
