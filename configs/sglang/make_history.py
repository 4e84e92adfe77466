#!/usr/bin/env python3
"""Write option_history.txt: make_history.py FOLDER OUT.txt

FOLDER holds one folder per SGLang release, each with a flags.json. A line of the result is an option that not every
release has, with the first and the last release that has it. Regenerate it when a release is added.
"""
import json
import pathlib
import sys


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    releases = sorted((p.parent.name for p in folder.glob("*/flags.json")), key=lambda r: [int(n) for n in r.split(".")])
    having = {}
    for release in releases:
        rows = json.loads((folder / release / "flags.json").read_text())
        for row in rows:
            for name in row["flags"]:
                having.setdefault(name, []).append(release)
    lines = [f"# Options that not every release from {releases[0]} to {releases[-1]} has: option, first, last."]
    for name, found in sorted(having.items()):
        span = releases[releases.index(found[0]):releases.index(found[-1]) + 1]
        if found != span:
            sys.exit(f"{name} went and came back; a first and a last release cannot say that")
        if found != releases:
            lines.append(f"{name} {found[0]} {found[-1]}")
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
