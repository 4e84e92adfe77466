"""Every output format as its consumers read it, with hostile names and secrets in the launches: output_consumers.py TOOL

The rules of each format are written here from its specification. Where XPU_PREFLIGHT_SARIF_SCHEMA or
XPU_PREFLIGHT_JUNIT_XSD name the published schemas, the files are held against those, too.
"""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import jsonschema

TOOL = str(pathlib.Path(sys.argv.pop(1)).resolve())
FORMATS = ["text", "json", "sarif", "junit", "github", "gitlab", "markdown", "html"]
SERVE = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B "
SECRET = "k3yN0b0dySh0uldS33"
HOSTILE = "\"<script>alert(1)</script>]]>|`x`\u202e[a](http://evil) ::error::no @team 'q' &amp; \\| %0A"
NAME = "na<b>me, ]]> | ::error::x\n::warning::y.sh"

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
COUNT = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
# What SARIF 2.1.0 (OASIS) asks of the objects that are written: 3.13 to 3.59.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "required": ["tool", "results"],
            "additionalProperties": False,
            "properties": {
                "properties": {"type": "object"},
                "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                    "type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"}, "version": {"type": "string"},
                        "rules": {"type": "array", "uniqueItems": True, "items": {
                            "type": "object", "required": ["id"], "additionalProperties": False, "properties": {
                                "id": {"type": "string"}, "shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT,
                                "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}}}}}}}}},
                "invocations": {"type": "array", "items": {
                    "type": "object", "required": ["executionSuccessful"],
                    "properties": {"executionSuccessful": {"type": "boolean"}, "exitCode": {"type": "integer"},
                        "toolExecutionNotifications": {"type": "array", "items": {
                            "type": "object", "required": ["message"], "properties": {"level": LEVEL, "message": TEXT}}}}}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message"], "additionalProperties": False, "properties": {
                        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0}, "level": LEVEL,
                        "message": TEXT, "properties": {"type": "object"},
                        "relatedLocations": {"type": "array", "uniqueItems": True, "items": {
                            "type": "object", "additionalProperties": False, "properties": {
                                "id": {"type": "integer", "minimum": 0}, "message": TEXT, "logicalLocations": {"type": "array"},
                                "physicalLocation": {"type": "object", "required": ["artifactLocation"]}}}},
                        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                        "suppressions": {"type": "array", "uniqueItems": True, "items": {
                            "type": "object", "required": ["kind"], "properties": {
                                "kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"}}}},
                        "locations": {"type": "array", "items": {
                            "type": "object", "additionalProperties": False, "properties": {
                                "logicalLocations": {"type": "array"},
                                "physicalLocation": {
                                    "type": "object", "required": ["artifactLocation"], "properties": {
                                        "artifactLocation": {"type": "object", "required": ["uri"], "properties": {
                                            "uri": {"type": "string", "pattern": "^[A-Za-z0-9._~/%:-]+$"}}},
                                        "region": {"type": "object", "required": ["startLine"], "properties": {
                                            "startLine": COUNT, "startColumn": COUNT}}}}}}}}}}}}},
    },
}
# GitLab's documentation of the code quality report.
GITLAB = {"type": "array", "items": {
    "type": "object",
    "required": ["description", "check_name", "fingerprint", "severity", "location"],
    "properties": {
        "description": {"type": "string", "minLength": 1}, "check_name": {"type": "string"},
        "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": {"type": "object", "required": ["path", "lines"], "properties": {
            "path": {"type": "string", "not": {"pattern": "^\\./"}},
            "lines": {"type": "object", "required": ["begin"], "properties": {"begin": COUNT}}}}}}}


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"


class Outputs(unittest.TestCase):
    """One run over a folder of launches, some hostile, in all formats at once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        launches = cls.at / "launches"
        launches.mkdir()
        (launches / "bad.sh").write_text("#!/bin/sh\n# xpu-preflight: ignore=PL004 known | ::error:: <b>\n" + SERVE + "--tp 3\n")
        (launches / NAME).write_text(SERVE + f"--tp 3 --served-model-name {quoted(HOSTILE)} --nope={quoted(HOSTILE)}\n")
        (launches / "secret.sh").write_text(f"export HF_TOKEN={SECRET}\n{SERVE} --tp 3 --api-key {SECRET} --nonsense --tool-call-parser {SECRET}\n")
        (launches / "open.sh").write_text(SERVE + "--tp $UNKNOWN\n")
        (launches / "größe.yaml").write_text(
            "services:\n  größe: {image: 'lmsysorg/sglang:v0.5.18', command: python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 5}\n")
        words = [w for f in FORMATS for w in ("--output", f"{f}={cls.at / ('out.' + f)}")]
        cls.run_done = cls.tool("check", *words, "launches")
        cls.text = {f: (cls.at / ("out." + f)).read_text(encoding="utf-8") for f in FORMATS}
        cls.json = json.loads(cls.text["json"])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def tool(cls, *words, cwd=None, env=()):
        everything = {**os.environ, "HOME": cls.folder.name, **dict(env)}
        return subprocess.run([TOOL, *words], cwd=cwd or cls.folder.name, env=everything, capture_output=True, text=True, timeout=300)

    def findings(self):
        return [f for one in self.json["launches"] if "report" in one for f in one["report"]["findings"]]

    def test_all_are_written_and_nothing_goes_to_standard_output(self):
        self.assertEqual(self.run_done.returncode, 1, self.run_done.stderr)
        self.assertEqual(self.run_done.stdout, "")
        self.assertGreater(len(self.findings()), 8)
        for text in self.text.values():
            self.assertTrue("PL003" in text)

    def test_no_secret_is_in_any_of_them(self):
        for name, text in self.text.items():
            self.assertFalse(SECRET in text, name)
        self.tool("check", "--write-baseline", "base.json", "launches")
        self.assertNotIn(SECRET, (self.at / "base.json").read_text())

    def test_nothing_acts_on_the_text_around_it(self):
        for name, text in self.text.items():
            self.assertFalse(re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text), name)
            if name not in ("github",):
                self.assertFalse(re.search(r"(?m)^::", text), name)

    def test_sarif(self):
        log = json.loads(self.text["sarif"])
        jsonschema.Draft7Validator(SARIF).validate(log)
        run = log["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
        prints = [r["partialFingerprints"]["xpuPreflight/v1"] for r in run["results"]]
        self.assertEqual(len(prints), len(set(prints)))
        suppressed = [r for r in run["results"] if "suppressions" in r]
        self.assertEqual([r["ruleId"] for r in suppressed], ["PL004"])
        self.assertEqual(suppressed[0]["suppressions"][0]["kind"], "inSource")
        first = next(r for r in run["results"] if r["ruleId"] == "PL003")
        self.assertEqual(first["locations"][0]["physicalLocation"]["region"], {"startLine": 3, "startColumn": len(SERVE) + 1})
        broken = json.loads(self.text["sarif"])
        broken["runs"][0]["results"][0]["level"] = "fatal"
        self.assertFalse(jsonschema.Draft7Validator(SARIF).is_valid(broken))
        if schema := os.environ.get("XPU_PREFLIGHT_SARIF_SCHEMA"):
            jsonschema.validate(log, json.loads(pathlib.Path(schema).read_text()))

    def test_junit(self):
        root = xml.etree.ElementTree.fromstring(self.text["junit"])
        self.assertEqual(root.tag, "testsuites")
        total = {"tests": 0, "failures": 0, "errors": 0}
        for suite in root:
            counted = {
                "tests": len(suite.findall("testcase")),
                "failures": len(suite.findall("testcase/failure")),
                "errors": len(suite.findall("testcase/error")),
                "skipped": len(suite.findall("testcase/skipped")),
            }
            self.assertEqual({k: int(suite.get(k)) for k in counted}, counted)
            for key in total:
                total[key] += counted[key]
            self.assertIn("verdict" if suite.find("properties") is not None else None, [p.get("name") for p in suite.iter("property")] or [None])
            for case in suite.findall("testcase"):
                self.assertTrue(case.get("classname") and case.get("name"))
                self.assertLessEqual(len(case), 1)
        self.assertEqual({k: int(root.get(k)) for k in total}, total)
        self.assertGreater(total["failures"], 2)
        self.assertEqual(total["errors"], 1)  # open.sh: unknown is never passed
        kernel = [c for c in root.iter("testcase") if c.get("name") == "decode kernel"]
        self.assertTrue(kernel and all(c.find("skipped") is not None for c in kernel))
        if schema := os.environ.get("XPU_PREFLIGHT_JUNIT_XSD"):
            subprocess.run(["xmllint", "--noout", "--schema", schema, str(self.at / "out.junit")], check=True, capture_output=True)

    def test_github(self):
        def data(text):
            return text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")

        def value(text):
            return data(text.replace("%3A", ":").replace("%2C", ","))

        lines = self.text["github"].splitlines()
        self.assertTrue(lines[-1].startswith("xpu-preflight: "))
        told = []
        for line in lines:
            if line.startswith("xpu-preflight: "):
                continue
            match = re.fullmatch(r"::(error|warning|notice) ((?:[a-z]+=[^,:]*,?)+)::(.*)", line)
            self.assertIsNotNone(match, line)
            properties = dict(p.split("=", 1) for p in match[2].split(","))
            told.append((value(properties["title"]), data(match[3]), value(properties.get("file", ""))))
        self.assertTrue(any(rule == "US001" and "na<b>me, ]]> | ::error::x" in file for rule, _, file in told))
        doubt = {c: f" ({c})" for c in ("likely", "to be confirmed on hardware")}  # stands behind the message there
        wanted = {(f["rule"], f["message"] + doubt.get(f["certainty"], "")) for f in self.findings() if f["severity"] in ("error", "warning") and "\u202e" not in f["message"]}
        self.assertLessEqual({(r, m) for r, m in wanted if "\\" not in m and "  " not in m},
                             {(rule, text.split("\nFix: ")[0]) for rule, text, _ in told})

    def test_gitlab(self):
        issues = json.loads(self.text["gitlab"])
        jsonschema.Draft7Validator(GITLAB).validate(issues)
        prints = [i["fingerprint"] for i in issues]
        self.assertEqual(len(prints), len(set(prints)))
        self.assertNotIn("PL004", [i["check_name"] for i in issues if i["location"]["path"].endswith("bad.sh")])
        self.assertFalse(jsonschema.Draft7Validator(GITLAB).is_valid([{**issues[0], "severity": "bad"}]))

    def test_fingerprints_outlive_lines_that_move(self):
        def prints():
            done = self.tool("check", "--output", "gitlab", "--output", f"json={os.devnull}", "moved.sh")
            return [i["fingerprint"] for i in json.loads(done.stdout)]

        (self.at / "moved.sh").write_text(SERVE + "--tp 3\n")
        before = prints()
        (self.at / "moved.sh").write_text("\n\n# a comment\n" + SERVE + "--tp 3\n")
        self.assertEqual(prints(), before)

    def test_markdown(self):
        text = self.text["markdown"]
        self.assertEqual(set(re.findall(r"<[^>]*>?", text)), {"<code>", "</code>", "<br>"})
        rows = [line for line in text.splitlines() if line.startswith("|")]
        self.assertGreater(len(rows), 4)
        for row in rows:
            self.assertEqual(row.count("|"), 5, row)
        for sign in ("`", "](", "@team", "http:", "[a]"):
            self.assertNotIn(sign, text)

    def test_html(self):
        faults, texts, seen = [], [], set()
        void = {"meta", "br"}

        class Page(html.parser.HTMLParser):
            open_tags = []

            def handle_starttag(self, tag, attributes):
                seen.add(tag)
                if tag not in void:
                    self.open_tags.append(tag)
                for name, value in attributes:
                    if name.startswith("on") or name in ("src", "href", "srcset", "data", "action"):
                        faults.append((tag, name))
                    if "url(" in (value or "") and "url(#" not in value:
                        faults.append((tag, value))

            def handle_startendtag(self, tag, attributes):
                seen.add(tag)

            def handle_endtag(self, tag):
                if not self.open_tags or self.open_tags.pop() != tag:
                    faults.append(("end", tag))

            def handle_data(self, data):
                texts.append(data)

        page = Page()
        page.feed(self.text["html"])
        page.close()
        self.assertEqual(faults, [])
        self.assertEqual(page.open_tags, [])
        self.assertFalse(seen & {"script", "link", "img", "iframe", "object", "b>me"})
        self.assertIn("default-src 'none'", self.text["html"])
        self.assertIn("prefers-color-scheme: dark", self.text["html"])
        self.assertIn("<script>alert(1)</script>]]>|`x`", "".join(texts))  # shown, not run
        done = self.tool("check", "--no-kernel", "--output", "html", "--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "32")
        for part in ('class="bar"', "<svg", "attention_backend", "32 (given) → 128 (_intel_xpu_page_constraint)", "Page table"):
            self.assertIn(part, done.stdout)

    def test_a_file_is_written_whole_or_not_at_all(self):
        words = ("--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3")
        self.assertEqual(self.tool("check", "--no-kernel", "--output", "json=no/such/folder.json", *words).returncode, 3)
        target = self.at / "kept.sarif"
        target.write_text("old")
        done = self.tool("check", "--no-kernel", "--output", "sarif=kept.sarif", "--model-config", "/nonexistent", *words)
        self.assertEqual((done.returncode, target.read_text()), (2, "old"))
        link = self.at / "link.sarif"
        link.symlink_to(target)
        self.assertEqual(self.tool("check", "--no-kernel", "--output", "sarif=link.sarif", *words).returncode, 1)
        self.assertTrue(link.is_symlink() and target.read_text().startswith("{"))
        self.assertEqual(sorted(p.name for p in self.at.glob("kept.sarif*")), ["kept.sarif"])

    def test_two_reports_for_one_place_are_refused(self):
        for words in (["text", "json"], ["sarif=a", "junit=a"], ["json=-", "github"]):
            flags = [w for word in words for w in ("--output", word)]
            done = self.tool("check", *flags, "--", "--tp", "2")
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("two reports for", done.stderr)
        self.assertIn("did you mean sarif?", self.tool("check", "--output", "sariff", "--", "--tp", "2").stderr)
        self.assertEqual(self.tool("check", "--output", "json", "--format", "json", "--", "--tp", "2").returncode, 2)

    def test_a_refused_launch_is_never_clean(self):
        for name in FORMATS:
            done = self.tool("check", "--no-kernel", "--ignore", "US", "--output", name, "--", "--model-path", "Qwen/Qwen3-8B", "--no-such-option")
            self.assertEqual(done.returncode, 0, name)
            self.assertIn("refuse", done.stdout, name)
            self.assertNotIn("clean", done.stdout.split("<body>")[-1], name)

    def test_stale_ignores_are_told(self):
        (self.at / "policy.yaml").write_text("ignores:\n- {rule: VA001, reason: once}\n")
        for name in ("text", "json", "sarif", "github", "markdown", "html"):
            done = self.tool("check", "--no-kernel", "--policy", "policy.yaml", "--output", name, "--", "--model-path", "Qwen/Qwen3-0.6B")
            self.assertIn("stale", done.stdout, name)

    def test_one_launch_behind_the_dashes(self):
        for name in FORMATS:
            done = self.tool("check", "--no-kernel", "--output", name, "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3", "--api-key", SECRET)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("PL003", done.stdout, name)
            self.assertNotIn(SECRET, done.stdout)
        log = json.loads(self.tool("check", "--no-kernel", "--output", "sarif", "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3").stdout)
        jsonschema.Draft7Validator(SARIF).validate(log)


unittest.main()
