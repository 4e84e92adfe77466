#!/usr/bin/env python3
"""How the time of the decode kernels grows with requests, length and heads: python3 tests/bench/growth.py PROGRAM --out SVG

PROGRAM is kernels_bench. Every point is the best of several launches (see docs/kernels.md for how they are timed).
--most-tokens bounds the largest cache, --json keeps the numbers, --from draws kept ones again.
"""
import argparse
import json
import pathlib
import subprocess

KERNELS = {"paged_decode, 32 heads on 8 KV heads": "paged_decode --heads {heads} --kv-heads 8",
           "mla_decode, 16 heads": "mla_decode --heads {heads}"}
HEADS = {"paged_decode": (32, (8, 16, 32, 64)), "mla_decode": (16, (8, 16, 32, 64, 128))}
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
REQUESTS = (1, 2, 4, 8, 16, 32, 64)


def sweeps(most_tokens):
    """(axis, kernel, value, case line)"""
    for title, line in KERNELS.items():
        usual_heads, heads = HEADS[line.split()[0]]
        base = 8 if most_tokens >= 8 * 16384 else max(1, most_tokens // 16384)

        def case(requests, length, count):
            return line.format(heads=count) + " --cache-seqlens " + ",".join([str(length)] * requests)

        for n in REQUESTS:
            if n * 4096 <= most_tokens:
                yield "requests of 4096 tokens", title, n, case(n, 4096, usual_heads)
        for n in LENGTHS:
            if n * base <= most_tokens:
                yield f"tokens of each of {base} requests", title, n, case(base, n, usual_heads)
        for n in heads:
            yield f"query heads, {base} requests of 4096 tokens", title.split(",")[0], n, case(base, 4096, n)


def measure(program, most_tokens):
    points = list(sweeps(most_tokens))
    cases = [word for *_, line in points for word in ("--case", line)]
    run = subprocess.run([program, *cases, "--benchmark_format=json"], capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    rows = []
    for (axis, title, value, _), result in zip(points, report["benchmarks"], strict=True):
        rows.append({"axis": axis, "kernel": title, "value": value, "ms": result.get("best_us_busy", result["best_us"]) / 1e3})
    # A CPU may be shared: its time is that of its processors, as in device_peaks.h.
    unit = "ms, processor time by cores" if "best_us_busy" in report["benchmarks"][0] else "ms"
    return {"device": report["context"]["device"], "unit": unit, "points": rows}


def draw(data, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"  # the same numbers, the same file
    from matplotlib import pyplot, ticker
    axes = list(dict.fromkeys(p["axis"] for p in data["points"]))
    figure, plots = pyplot.subplots(1, len(axes), figsize=(4.2 * len(axes), 3.4), constrained_layout=True)
    for plot, axis in zip(plots, axes, strict=True):
        for kernel in dict.fromkeys(p["kernel"] for p in data["points"] if p["axis"] == axis):
            points = [p for p in data["points"] if p["axis"] == axis and p["kernel"] == kernel]
            plot.plot([p["value"] for p in points], [p["ms"] for p in points], marker="o", markersize=3, label=kernel)
        plot.set_xscale("log", base=2)
        plot.set_yscale("log")
        plot.set_xlabel(axis)
        plot.set_ylabel(data["unit"] + ", best of the run", fontsize=8)
        plot.set_xticks(sorted({p["value"] for p in data["points"] if p["axis"] == axis}))
        for ticks in (plot.xaxis, plot.yaxis):
            ticks.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            ticks.set_minor_formatter(ticker.NullFormatter())
        plot.tick_params(labelsize=7)
        plot.grid(alpha=0.3)
        plot.legend(fontsize=7)
    figure.suptitle(data["device"], fontsize=9)
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?")
    parser.add_argument("--out", help="SVG to draw")
    parser.add_argument("--json", help="file for the numbers")
    parser.add_argument("--from", dest="kept", help="numbers of an earlier run")
    parser.add_argument("--most-tokens", type=int, default=8 * 4096)
    options = parser.parse_args()
    data = json.loads(pathlib.Path(options.kept).read_text()) if options.kept else measure(options.program, options.most_tokens)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(data, indent=1) + "\n")
    if options.out:
        draw(data, options.out)


if __name__ == "__main__":
    main()
