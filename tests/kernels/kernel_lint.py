#!/usr/bin/env python3
"""Compiles the programs of `xpu-preflight kernels --programs DIR` with Intel's offline compiler; none may spill.

First it shows that it can fail: a kernel that must spill and one that does not compile have to be reported.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

SPILL = re.compile(r"kernel (\S+)\s+compiled SIMD(\d+) allocated \d+ regs and spilled around (\d+)")

# 192 floats of an item are live at once, and a register file of 128 holds 128 of them at best.
VECTORS = range(12)
SPILLING = "kernel void spills(global float* data, int n) {\n"
SPILLING += "".join(f"  float16 v{i} = vload16(get_global_id(0) * 12 + {i}, data);\n" for i in VECTORS)
SPILLING += "  for (int step = 0; step < n; ++step) {\n"
SPILLING += "".join(f"    v{i} = fma(v{i}, v{(i + 5) % 12}.s123456789abcdef0, data[step]);\n" for i in VECTORS)
SPILLING += "  }\n" + "".join(f"  vstore16(v{i}, get_global_id(0) * 12 + {i}, data);\n" for i in VECTORS) + "}\n"
BROKEN = "kernel void broken(global float* data) { data[0] = no_such_function(); }\n"


class Result(collections.namedtuple("Result", "built spills log")):
    @property
    def good(self):
        return self.built and not self.spills


def compile_one(source, device, options):
    """Result of one compilation; spills: kernel -> count."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run(
            ["ocloc", "compile", "-file", str(source), "-device", device, "-options", options, "-out_dir", out],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        binary = any(pathlib.Path(out).glob("*.bin"))
    spills = {name: int(count) for name, _, count in SPILL.findall(run.stdout)}
    return Result(run.returncode == 0 and binary, spills, run.stdout.strip())


def prove_that_it_can_fail(directory):
    for name, text in (("spills", SPILLING), ("broken", BROKEN)):
        source = directory / f"planted_{name}.cl"
        source.write_text(text)
        result = compile_one(source, "pvc", "-w -cl-std=CL1.2")
        seen = result.spills if name == "spills" else not result.built
        if not seen:
            sys.exit(f"kernel-lint: the planted program '{name}' was not noticed: the check is blind\n{result.log}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    prove_that_it_can_fail(arguments.directory)
    rows = [line.split("\t") for line in (arguments.directory / "programs.tsv").read_text().splitlines()]
    if not rows:
        sys.exit("kernel-lint: no programs")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda r: compile_one(arguments.directory / f"{r[1]}.cl", r[0], r[2]), rows))
    table = collections.defaultdict(lambda: [0, 0, 0])
    for (device, kernel, options, case), result in zip(rows, results):
        form = "DPAS" if "-DTILE_BODY=3" in options else "blocks" if "-DBLOCKS=1" in options else "plain"
        cell = table[kernel, device, form]
        cell[0] += 1
        cell[1] += not result.built
        cell[2] += sum(result.spills.values())
        if not result.good:
            print(f"{device}: {case}\n  options: {options}\n  {result.log}\n", file=sys.stderr)
    print(f"{'kernel':20}{'device':8}{'form':8}{'programs':>9}{'failed':>8}{'spills':>8}")
    for (kernel, device, form), (programs, failed, spills) in table.items():
        print(f"{kernel:20}{device:8}{form:8}{programs:9}{failed:8}{spills:8}")
    sys.exit(0 if all(result.good for result in results) else 1)


if __name__ == "__main__":
    main()
