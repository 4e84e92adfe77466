"""Runs every command that prints JSON and holds what it prints against docs/report.schema.json: report_schema.py TOOL

The schema names every key: here an object with one that it does not name fails, too.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = str(pathlib.Path(sys.argv[1]).resolve())
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
LAUNCH = ["--model-path", "Qwen/Qwen3-8B", "--attention-backend", "intel_xpu", "--page-size", "32"]
BAD = ["--model-path", "Qwen/Qwen3-8B", "--tp", "3", "--attention-backend", "intel_xpu", "--page-size", "256"]
SERVE = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B "

FILES = {
    "good.sh": SERVE + "--tp 2\n",
    "bad.sh": "# xpu-preflight: ignore=PL004 known, and mended next week\n" + SERVE + "--tp 3\n",
    "open.sh": SERVE + "--tp $N\n",
    "unread.sh": "python -m sglang.launch_server --model-path " + "/nonexistent/" + " --config /nonexistent.yaml\n",
    "skipped.yaml": "apiVersion: v1\nkind: Pod\nsglang: {{ .x }}\n",
    "node0.sh": SERVE + "--tp 16 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000\n",
    "node1.sh": SERVE + "--tp 8 --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:5000\n",
    "cases.jsonl": "".join(json.dumps({"id": str(i), "args": a}) + "\n" for i, a in enumerate([LAUNCH, BAD, ["--nope"]])),
}

# (definition, exit statuses, words)
RUNS = [
    ("check", {0}, ["check", "--no-kernel", "--format", "json", "--", *LAUNCH]),
    ("check", {0}, ["check", "--kernel-timeout", "50", "--format", "json", "--", "--model-path", "Qwen/Qwen3-0.6B"]),
    ("check", {1}, ["check", "--kernel-from", "python:/nonexistent", "--format", "json", "--", *LAUNCH]),
    ("check", {1}, ["check", "--no-kernel", "--format", "json", "--", *BAD]),
    ("check", {1}, ["check", "--no-kernel", "--output", "json", "--", "--nope"]),
    ("check", {0}, ["check", "--no-kernel", "--format", "json", "--ignore", "PG,PL,RF", "--", *LAUNCH]),
    ("check", {0}, ["check", "--no-kernel", "--format", "json", "--", "--model-path", "/nonexistent"]),
    ("check", {1}, ["check", "--no-kernel", "--format", "json", "--command-file", "bad.sh"]),
    ("check_files", {1}, ["check", "--format", "json", "."]),
    ("error", {2}, ["check", "--format", "json"]),
    ("error", {2}, ["check", "--format=json", "--nonsense"]),
    ("error", {2}, ["check", "--format", "json", "nowhere/*.sh"]),
    ("error", {2}, ["memory", "--format", "json", "--device-memory", "x", "--", *LAUNCH]),
    ("error", {2}, ["nodes", "--format", "json", "nowhere.sh"]),
    ("nodes", {1}, ["nodes", "--format", "json", "node0.sh", "node1.sh"]),
    ("comparison", {0, 1}, ["upgrade", "--format", "json", "--from", "0.5.11", "--", *LAUNCH]),
    ("comparison", {1}, ["resolve", "--format", "json", "--diff", "good.sh", "bad.sh"]),
    ("pages", {0}, ["pages", "--no-kernel", "--format", "json", "--", *LAUNCH]),
    ("pages", {1}, ["pages", "--no-kernel", "--format", "json", "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3"]),
    ("memory", {0, 1}, ["memory", "--format", "json", "--", *LAUNCH]),
    ("memory", {1}, ["memory", "--format", "json", "--", "--model-path", "Qwen/Qwen3-32B"]),
    ("memory", {1}, ["memory", "--format", "json", "--", "--model-path", "/nonexistent"]),
    ("launches", {0, 2}, ["launches", "--format", "json", "."]),
    ("rules", {0}, ["rules", "--format", "json"]),
    ("devices", {0, 5}, ["check", "--list-devices", "--format", "json"]),
    ("doctor", {0, 1}, ["doctor", "--format", "json", "--", *LAUNCH]),
    ("suggest", {0}, ["suggest", "Qwen/Qwen3-0.6B", "--format", "json"]),
    ("facts", {0}, ["facts", "--format", "json", "--", *LAUNCH]),
]


def strict(node):
    """The schema with no room for keys that it does not name."""
    if isinstance(node, list):
        return [strict(n) for n in node]
    if not isinstance(node, dict):
        return node
    out = {key: strict(value) for key, value in node.items()}
    if out.get("type") == "object" and "properties" in out:
        out.setdefault("additionalProperties", False)
    return out


DEFINITIONS = strict(SCHEMA)["$defs"]


def validator(name):
    kind = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
    return kind({"$defs": DEFINITIONS, "$ref": "#/$defs/" + name})


def run(words, directory):
    env = {**os.environ, "XPU_PREFLIGHT_CACHE_DIR": "", "HOME": directory}
    return subprocess.run([TOOL, *words], cwd=directory, env=env, capture_output=True, text=True, timeout=300)


def faults_of(name, document):
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator(name).iter_errors(document)]


def finding_lists(node):
    """Every object that has a rule and a message: all of them are findings."""
    if isinstance(node, dict):
        if "rule" in node and "message" in node and "what" not in node:
            yield node
        for value in node.values():
            yield from finding_lists(value)
    if isinstance(node, list):
        for value in node:
            yield from finding_lists(value)


def check_runs(directory):
    faults, shapes = [], 0
    for name, statuses, words in RUNS:
        done = run(words, directory)
        told = " ".join(words)
        if done.returncode not in statuses:
            faults.append(f"{told}: status {done.returncode}: {done.stderr[:300]}")
        try:
            document = json.loads(done.stdout)
        except ValueError:
            faults.append(f"{told}: no JSON: {done.stdout[:200]!r} {done.stderr[:200]!r}")
            continue
        faults += [f"{told}: {fault}" for fault in faults_of(name, document)]
        shapes += sum(1 for _ in finding_lists(document))
        for finding in finding_lists(document):
            faults += [f"{told}: a finding of another shape: {fault}" for fault in faults_of("finding", finding)]
    done = run(["check", "--batch", "cases.jsonl", "--fixes"], directory)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        faults += [f"batch: {fault}" for fault in faults_of("batch_line", line)]
    if len(lines) != 3:
        faults.append(f"batch: {len(lines)} lines of 3: {done.stderr[:300]}")
    if shapes < 20:
        faults.append(f"only {shapes} findings were seen: these runs show nothing")
    return faults


def check_schema_can_fail(directory):
    """A report that lacks a key, has a strange one or a wrong type is refused."""
    report = json.loads(run(["check", "--no-kernel", "--format", "json", "--", *BAD], directory).stdout)
    broken = [copy.deepcopy(report) for _ in range(4)]
    del broken[0]["findings"][0]["why"]
    broken[1]["findings"][0]["nonsense"] = 1
    broken[2]["exit_status"] = "1"
    broken[3]["format_version"] = 2
    return [f"the schema takes broken report {i}" for i, b in enumerate(broken) if not faults_of("check", b)]


def main():
    jsonschema.Draft7Validator.check_schema({"type": "object"})
    with tempfile.TemporaryDirectory() as directory:
        for name, text in FILES.items():
            pathlib.Path(directory, name).write_text(text)
        faults = check_runs(directory) + check_schema_can_fail(directory)
    for fault in faults:
        print(fault)
    print(f"{len(RUNS) + 1} commands, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
