#!/usr/bin/env python3
"""Write which steps set which fields in recorded launches: tests/data/recorded_steps.txt.

  recorded_steps.py

tests/change_reasons_test.cpp demands a reason for each. Fields that are SGLang's notes to itself are left out, and so is
what a step's name says behind its first dot.
"""
import pathlib

import facts

OUT = pathlib.Path(__file__).resolve().parents[1] / "data/recorded_steps.txt"
HEAD = "# Steps that set a field in a recorded launch of any release. Written by tests/parity/recorded_steps.py.\n"


def recorded():
    for release in facts.releases():
        for row in facts.read(release)[1]:
            for source, fields in row.get("trace") or []:
                yield from ((source, field) for field in fields)
            yield from ((source, field) for source, field, _ in row.get("writes") or [])


def main():
    pairs = {(source.split(".")[0].lstrip("_"), field) for source, field in recorded() if not field.startswith("_")}
    OUT.write_text(HEAD + "".join(f"{step} {field}\n" for step, field in sorted(pairs)), encoding="utf-8")


if __name__ == "__main__":
    main()
