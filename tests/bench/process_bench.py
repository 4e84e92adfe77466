#!/usr/bin/env python3
"""Time whole processes: process_bench.py PROGRAM [--python EXE] [--runs N]

Our cold start (one launch, one process), a batch of the recorded launches of tests/parity, and the growth of its
memory. With --python, an interpreter that has SGLang installed, the real code's cold start and time per launch stand
beside them as ratios. CPU time (user + system) is printed too: it says more than wall time on a machine that is busy.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/parity"))
import facts  # noqa: E402

# Runs inside the interpreter that has SGLang: the time per launch once everything is imported.
REAL = r"""
import contextlib, io, json, runpy, sys, time
request = json.load(sys.stdin)
ours = runpy.run_path(request["script"])
ours["hide_packages"]()
ours["describe_device"](request["device"])
from sglang.srt import server_args as module
def once(argv):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            record = module.prepare_server_args(argv)
            if hasattr(record, "resolve_once"):
                record.resolve_once()
            record.check_server_args()
        except BaseException:
            pass
for argv in request["launches"]:
    once(argv)
start = time.perf_counter(), time.process_time()
for argv in request["launches"]:
    once(argv)
n = len(request["launches"])
print(json.dumps({"wall": (time.perf_counter() - start[0]) / n, "cpu": (time.process_time() - start[1]) / n}))
"""


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command, **options):
    wall, cpu = time.perf_counter(), children_cpu()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **options)
    return time.perf_counter() - wall, children_cpu() - cpu


def peak_kib(command):
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    return int(subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--python")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    model = str(ROOT / "tests/data/models/qwen3-8b")
    launch = ["--model-path", model, "--attention-backend", "intel_xpu", "--page-size", "32", "--tp-size", "2"]
    cold = [timed([options.program, "resolve", "--", *launch]) for _ in range(options.runs)]
    cold_wall, cold_cpu = (statistics.median(c[i] for c in cold) for i in (0, 1))
    print(f"cold start, one launch: {cold_wall * 1e3:.2f} ms wall, {cold_cpu * 1e3:.2f} ms CPU (median of {options.runs})")

    release = facts.releases()[-1]
    with tempfile.TemporaryDirectory() as folder:
        cases, _ = facts.unpack(release, pathlib.Path(folder))
        lines = cases.read_text()
        command = [options.program, "resolve", "--sglang-version", release, "--models", f"{folder}/models", "--batch"]
        peaks = []
        for times in (10, 50):
            many = pathlib.Path(folder) / f"{times}.jsonl"
            many.write_text(lines * times)
            peaks.append(peak_kib([*command, str(many)]))
        count = lines.count("\n") * 50
        wall, cpu = min((timed([*command, str(many)]) for _ in range(3)), key=lambda t: t[1])
    print(f"batch of {count}: {count / wall:,.0f} launches/s wall, {count / cpu:,.0f} launches per CPU second, "
          f"{cpu / count * 1e6:.1f} µs CPU each")
    print(f"peak memory: {peaks[0]} KiB for {count // 5}, {peaks[1]} KiB for {count}")
    if not options.python:
        return
    answers = ["sh", "-c", 'exec "$@" 3>&1', "sh"]  # it answers on a descriptor of its own
    ask = ["-c", (ROOT / "src/resolve/peer/ask_sglang.py").read_text()]
    device = {"memory_mib": 24480, "count": 8, "name": "Intel(R) Arc(TM) Pro B60 Graphics", "has_fp64": True}
    request = json.dumps({"argv": launch, "env": {}, "device": device})
    real = [timed([*answers, options.python, *ask], input=request.encode()) for _ in range(3)]
    real_wall, real_cpu = (statistics.median(r[i] for r in real) for i in (0, 1))
    print(f"SGLang itself, cold: {real_wall:.1f} s wall, {real_cpu:.1f} s CPU: "
          f"{real_wall / cold_wall:,.0f} and {real_cpu / cold_cpu:,.0f} times ours")
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    request = json.dumps({"script": str(ROOT / "src/resolve/peer/ask_sglang.py"), "device": device, "launches": [launch] * 10})
    answer = subprocess.run([options.python, "-c", REAL], input=request, capture_output=True, text=True, env=offline)
    each = json.loads(answer.stdout.strip().splitlines()[-1])
    print(f"SGLang itself, one more launch: {each['wall'] * 1e3:.1f} ms wall, {each['cpu'] * 1e3:.1f} ms CPU: "
          f"{each['cpu'] / (cpu / count):,.0f} times ours")


if __name__ == "__main__":
    main()
