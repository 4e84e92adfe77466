"""All formats of one check say the same: output_agreement.py TOOL

Verdict, exit status, counts by severity, the cause of a verdict and how sure a finding is, over launches of all kinds, one
by one and as files. The formats are read as their consumers read them; none is compared with our own words for it.
"""
import collections
import html
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree

TOOL = str(pathlib.Path(sys.argv[1]).resolve())
FORMATS = ["text", "json", "sarif", "junit", "github", "gitlab", "markdown", "html"]
SERVE = "python -m sglang.launch_server "
SMALL = "--model-path Qwen/Qwen3-0.6B"
SEVERITIES = ["error", "warning", "change", "info"]
KINDS = {"not-checked", "kernel", "skipped-file", "refused", "doubtful", "incomplete"}  # of results that are no findings

LAUNCHES = [SMALL + more for more in (
    "", " --attention-backend intel_xpu --page-size 32", " --attention-backend intel_xpu --page-size 256", " --attention-backend xpu",
    " --device cuda", " --device cpu", " --speculative-algorithm EAGLE", " --max-total-tokens 100", " --mem-fraction-static 0.99",
    " --mem-fraction-static 0.05", " --mem-fraction-static 1.5", " --context-length 1000000", " --dp 2 --tp 2 --enable-dp-attention",
    " --quantization fp8", " --quantization w8a8_int8", " --kv-cache-dtype fp8_e4m3 --attention-backend intel_xpu",
    " --decode-attention-backend intel_xpu", " --tp 16", " --tp 3", " --pp-size 2", " --enable-deterministic-inference",
    " --sampling-backend flashinfer", " --disaggregation-mode decode", " --dtype float32", " --enable-hierarchical-cache",
    " --chunked-prefill-size 100 --attention-backend intel_xpu --page-size 128", " --nope", " --host ''",
)] + ["--model-path " + m for m in (
    "Qwen/Qwen3-8B", "Qwen/Qwen3-8B --context-length 4096", "Qwen/Qwen3-8B --tp 2", "deepseek-ai/DeepSeek-V3 --tp 8",
    "deepseek-ai/DeepSeek-OCR", "openai/gpt-oss-20b --attention-backend intel_xpu", "openai/gpt-oss-120b --tp 4", "/nonexistent",
    "meta-llama/Llama-3.1-70B-Instruct --tp 2", "google/gemma-2-9b-it", "Qwen/Qwen3-30B-A3B --tp 4 --ep-size 4", "foo/bar --tp 2",
)] + ["--tp 2"]
OPTIONS = [["--no-kernel", *o] for o in (
    [], ["--fail-on", "change"], ["--fail-on", "info"], ["--fail-on", "never"], ["--ignore", "US,PL,RF,MD"], ["--device-profile", "b60"],
    ["--require", "model,release"])] + [["--require-kernel", "--opencl-device", "no such device"]]

FILES = {
    "a.sh": SERVE + SMALL + " --tp 3\n", "b.sh": SERVE + "--model-path Qwen/Qwen3-8B\n", "c.sh": SERVE + "--model-path foo/bar\n",
    "d.sh": SERVE + SMALL + " --tp $N\n", "e.yaml": "apiVersion: v1\nkind: Pod\nsglang: {{ .x }}\n",
    "f.sh": "# xpu-preflight: ignore=PL002,PL011 it is known\n" + SERVE + "--model-path Qwen/Qwen3-8B\n",
    "n0.sh": SERVE + SMALL + " --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000\n",
    "n1.sh": "\n" + SERVE + SMALL + " --tp 8 --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:5000\n",
}


def plain(name, text):
    """The format's own escapes away."""
    if name == "github":
        return urllib.parse.unquote(text)
    return html.unescape(text) if name in ("junit", "markdown", "html") else text if name == "text" else json.dumps(json.loads(text), ensure_ascii=False).replace('\\"', '"')


def by_severity(counts):
    return tuple(counts.get(s, 0) for s in SEVERITIES)


def numbers(words):
    return tuple(int(n) for n in re.search(r"(\d+) errors?, (\d+) warnings?, (\d+) changes?, (\d+) notes?", words).groups())


class Told:
    """What each format says of a run: verdicts in the order of the launches, and counts of findings by severity."""

    def __init__(self, text, status):
        document = json.loads(text["json"])
        files = "launches" in document
        reports = [one["report"] for one in document["launches"] if "report" in one] if files else [document]
        groups = [f for group in document.get("together", []) for f in group["findings"]]
        self.findings = [f for r in reports for f in r["findings"]] + groups
        self.reports = reports
        self.groups = [group for group in document.get("together", []) if group["findings"]]
        self.verdicts = {"json": [r["verdict"] for r in reports]}
        self.counts = {"json": by_severity(collections.Counter(f["severity"] for f in self.findings))}
        self.each = {"json": [by_severity(collections.Counter(f["severity"] for f in r["findings"])) for r in reports]}
        self.status = {"process": status, "json": document["exit_status"]}
        self.group_counts = by_severity(collections.Counter(f["severity"] for f in groups))
        self.read_text(text["text"], files)
        self.read_sarif(json.loads(text["sarif"])["runs"][0])
        self.read_junit(xml.etree.ElementTree.fromstring(text["junit"]))
        self.read_others(text)

    def read_text(self, text, files):
        shape = r"^\S[^\n]*: ([a-z-]+) \(SGLang [^)]*\): (\d+ error.*)$" if files else r"^([a-z-]+): (\d+ error.*)$"
        found = re.findall(shape, text, re.M)
        self.verdicts["text"] = [word for word, _ in found]
        self.each["text"] = [numbers(words) for _, words in found]

    def read_sarif(self, run):
        self.results = [r for r in run["results"] if "suppressions" not in r]
        told = [r["properties"]["severity"] for r in self.results if r["ruleId"] not in KINDS]
        self.counts["sarif"] = by_severity(collections.Counter(told))
        levels = {"error": "error", "warning": "warning", "change": "note", "info": "note"}
        self.levels_fit = all(r["level"] == levels[r["properties"]["severity"]] for r in self.results)
        launches = [one for one in run["properties"]["launches"] if one["verdict"] != "not-checked"]
        self.verdicts["sarif"] = [one["verdict"] for one in launches]
        self.each["sarif"] = [numbers(one["counts"]) for one in launches]
        self.status["sarif"] = run["invocations"][0]["exitCode"]

    def read_junit(self, root):
        suites = [{p.get("name"): p.get("value") for p in suite.iter("property")} for suite in root]
        suites = [suite for suite in suites if suite]
        self.verdicts["junit"] = [suite["verdict"] for suite in suites]
        self.each["junit"] = [numbers(suite["counts"]) for suite in suites]
        self.status["junit"] = int(root.get("failures")) + int(root.get("errors"))
        self.passed = [{c.get("name") for c in suite.iter("testcase") if len(c) == 0} for suite in root if suite.find("properties") is not None]

    def read_others(self, text):
        lines = re.findall(r"^xpu-preflight: .*: ([a-z-]+): (\d+ error.*)$", plain("github", text["github"]), re.M)
        self.verdicts["github"] = [word for word, _ in lines]
        self.each["github"] = [numbers(words) for _, words in lines]
        titles = re.findall(r"^::(\w+) .*?title=([^:,]*)", text["github"], re.M)
        self.annotations = collections.Counter(kind for kind, rule in titles if rule not in KINDS)
        issues = json.loads(text["gitlab"])
        kinds = collections.Counter(i["severity"] for i in issues if i["check_name"] not in KINDS)
        self.issues = (kinds["critical"], kinds["major"], kinds["minor"])
        self.gitlab_verdicts = {m[1] for i in issues if (m := re.search(r"\(The launch: ([a-z-]+)\.\)$", i["description"]))}
        lines = re.findall(r"^- <code>.*?</code>: ([a-z-]+): (\d+ error[^;]*)", plain("markdown", text["markdown"]), re.M)
        self.verdicts["markdown"] = [word for word, _ in lines]
        self.each["markdown"] = [numbers(words) for _, words in lines]
        rows = re.findall(r"^\| (\w+) \| <code>(.*?)</code>", plain("markdown", text["markdown"]), re.M)
        self.rows = collections.Counter(severity for severity, rule in rows if rule not in KINDS)
        lines = re.findall(r'^<p class="(good|bad)">([a-z-]+): (\d+ error.*)</p>$', text["html"], re.M)
        self.verdicts["html"] = [word for _, word, _ in lines]
        self.each["html"] = [numbers(words) for _, _, words in lines]
        self.colours = [colour for colour, _, _ in lines]
        articles = re.findall(r'<article class="(\w+)"><h3><b class="\w+">\w+</b> ([^:]*):', text["html"])
        self.counts["html"] = by_severity(collections.Counter(severity for severity, rule in articles if rule not in KINDS))


def is_good(verdict):
    return verdict in ("pass", "clean")


def faults_of_counts(t):
    for what, group in (("verdicts", t.verdicts), ("findings of each launch", t.each), ("findings", t.counts)):
        for name, value in group.items():
            if value != group["json"]:
                yield f"{what}: {name} says {value}, json {group['json']}"
    error, warning, change, info = t.counts["json"]
    if (t.annotations["error"], t.annotations["warning"]) != (error, warning):
        yield f"github annotates {dict(t.annotations)} of {t.counts['json']}"
    if t.issues != (error, warning, change):
        yield f"gitlab has {t.issues} of {t.counts['json']}"
    if tuple(t.rows[s] for s in ("error", "warning", "change")) != (error, warning, change):
        yield f"markdown has {dict(t.rows)} of {t.counts['json']}"
    if not t.levels_fit:
        yield "a SARIF level is not that of its severity"
    if not t.gitlab_verdicts <= set(t.verdicts["json"]):
        yield f"gitlab says {t.gitlab_verdicts}"


def faults_of_verdicts(t):
    if len({t.status["process"], t.status["json"], t.status["sarif"]}) > 1 or (t.status["process"] != 0) != (t.status["junit"] > 0):
        yield f"exit status: {t.status}"
    for verdict, passed, colour in zip(t.verdicts["json"], t.passed, t.colours):
        if not is_good(verdict) and passed:
            yield f"junit lets a launch pass that is {verdict}: {passed}"
        if (colour == "good") != is_good(verdict):
            yield f"html paints {verdict} as {colour}"


def causes(t, report):
    """Messages of which one has to be told, in any format."""
    if report["verdict"] in ("doubtful",):
        told = [f["message"] for f in report["findings"] if f["rule"] in ("PL002", "PL008", "PL011")] or [report["doubt"]]
    elif report["verdict"] == "incomplete":
        told = [f["message"] for f in report["findings"] if f["rule"].startswith("MD")] or ["not everything about this launch is known"]
    elif report["verdict"] == "refused":
        told = [f["message"] for f in report["findings"] if f["severity"] == "error"] or ["SGLang refuses this launch"]
    elif report["verdict"] == "fail":
        told = [f["message"] for f in report["findings"]]
    else:
        told = ["decode kernel: "] if report["verdict"] != "unknown-device" else ["no such device"]
    return told + [ignored["message"] for ignored in report["ignored"]]


def faults_of_causes(t, text):
    for report in t.reports:
        if is_good(report["verdict"]):
            continue
        # A verdict under --fail-on never has nothing that fails, and is told by its findings all the same.
        for name in FORMATS:
            if not any(cause in plain(name, text[name]) for cause in causes(t, report)):
                yield f"{name} does not say why the launch is {report['verdict']}: {causes(t, report)[:2]}"
    for finding in t.findings:
        sure = finding["certainty"] in ("certain", "estimated")
        if sure or finding["severity"] in ("info", "change"):
            continue
        for name in FORMATS:
            if name != "json" and f"{finding['message']} ({finding['certainty']})" not in plain(name, text[name]):
                yield f"{name} does not say that {finding['rule']} is {finding['certainty']}"


def run(words, folder, at):
    outputs = [w for f in FORMATS for w in ("--output", f"{f}={folder / ('out.' + f)}")]
    done = subprocess.run([TOOL, "check", "--no-policy", *outputs, *words], cwd=at, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "HOME": str(folder), "COLUMNS": "500"})
    if done.returncode in (2, 3):
        return None, f"status {done.returncode}: {done.stderr}"
    return {f: (folder / ("out." + f)).read_text(encoding="utf-8") for f in FORMATS}, done.returncode


def faults_of_run(words, folder, at, seen):
    text, status = run(words, folder, at)
    if text is None:
        return [status]
    told = Told(text, status)
    seen.update(told.verdicts["json"])
    return [*faults_of_counts(told), *faults_of_verdicts(told), *faults_of_causes(told, text)]


def faults_of_groups(folder, at):
    """A finding about several launches stands at the first, and names the others."""
    text, status = run(["."], folder, at)
    told = Told(text, status)
    if sum(told.group_counts) == 0:
        return ["the nodes fit together: this shows nothing"]
    group = [r for r in told.results if r["ruleId"].startswith("ND")]
    out = [] if group else ["no result is about the nodes"]
    for result in group:
        place = result["locations"][0].get("physicalLocation", {})
        if (place.get("artifactLocation"), place.get("region")) != ({"uri": "n0.sh"}, {"startLine": 1}):
            out.append(f"{result['ruleId']} stands at {place}")
        others = [(o["physicalLocation"]["artifactLocation"]["uri"], o["physicalLocation"]["region"]["startLine"]) for o in result.get("relatedLocations", [])]
        if others != [("n1.sh", 2)]:
            out.append(f"{result['ruleId']} names {others} beside")
    return out


def main():
    faults, seen = [], set()
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        at = folder / "launches"
        at.mkdir()
        for name, content in FILES.items():
            (at / name).write_text(content)
        runs = [[*options, "--", *shlex.split(launch)] for launch in LAUNCHES for options in OPTIONS]
        runs += [[*options, "."] for options in OPTIONS[:-1]]
        for words in runs:
            faults += [f"{shlex.join(words)}: {fault}" for fault in faults_of_run(words, folder, at, seen)]
        faults += faults_of_groups(folder, at)
    wanted = {"clean", "doubtful", "incomplete", "fail", "refused", "unknown-device"}
    if not wanted <= seen:
        faults.append(f"these launches show {sorted(seen)} alone")
    print("\n".join(faults))
    print(f"{len(runs)} runs, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
