#!/usr/bin/env python3
"""Every name of a kernel mutant is one mutant's, whichever driver judges it, those that tests/mutants/explained.txt lists are
still there, and so is what the mistakes of tests/mutants/by_hand.txt take the place of."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mutants"))
import kernel_mutate  # noqa: E402

places = collections.defaultdict(set)
for kernel_mutate.on_gpu in (False, True):
    generated = [m for name in kernel_mutate.sources() for m in kernel_mutate.mutants_of(name)]
    for mutant in generated + kernel_mutate.by_hand():
        places[kernel_mutate.identity(mutant)].add(mutant)
faults = [f"{name} stands for {len(mutants)} mutants" for name, mutants in places.items() if len(mutants) > 1]
faults += [f"explained, and not there: {name}" for name in kernel_mutate.explained() if name not in places]
if not kernel_mutate.explained():
    faults.append("explained.txt explains no mutant")
print("\n".join(faults))
sys.exit(bool(faults))
