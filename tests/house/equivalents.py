#!/usr/bin/env python3
"""Every mutant that tests/mutation/equivalent.txt calls harmless is still there, and has a reason."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mutation"))
import mutate  # noqa: E402
import sites  # noqa: E402

there = {mutate.key(m) for m in sites.all_sites()[0]}
faults = [f"no such mutant: {name}" for name in mutate.equivalents() if name not in there]
faults += [f"no reason: {name}" for name, reason in mutate.equivalents().items() if not reason]
if not mutate.equivalents():
    faults.append("equivalent.txt names no mutant")
print("\n".join(faults))
sys.exit(bool(faults))
