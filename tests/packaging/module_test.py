#!/usr/bin/env python3
"""The Python module of the wheel, with the program that was built:  module_test.py PROGRAM"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/python"))
import xpu_preflight  # noqa: E402
from xpu_preflight import NoReport, check  # noqa: E402

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
MODEL = ["--model-path", "Qwen/Qwen3-0.6B"]


class Module(unittest.TestCase):
    def setUp(self):
        os.environ["XPU_PREFLIGHT"] = PROGRAM

    def test_a_clean_launch_with_what_sglang_changes(self):
        report = check([*MODEL, "--attention-backend", "intel_xpu", "--page-size", "32"], release="0.5.23", device="b60")
        self.assertTrue(report.ok)
        self.assertEqual((report.verdict, report.exit_status, report.sglang_version), ("clean", 0, "0.5.23"))
        page = report.resolved["page_size"]
        self.assertEqual((page.initial, page.value, page.given), (32, 128, True))
        self.assertIn("_intel_xpu_page_constraint", page.changed_by)
        self.assertIn("CH001", [f.rule for f in report.findings if f.severity == "change"])
        self.assertEqual(report.errors, [])
        self.assertEqual(report.raw["kernel"]["verdict"], "skipped")

    def test_errors_with_fixes_that_are_clean(self):
        report = check([*MODEL, "--tp", "3"], release="0.5.23", device="b60")
        self.assertFalse(report.ok)
        self.assertEqual(report.verdict, "fail")
        self.assertIn("PL003", [f.rule for f in report.errors])
        self.assertTrue(all(f.message and f.why and f.source for f in report.errors))
        self.assertEqual(report.errors[0].field, "tp_size")
        self.assertTrue(check(report.fixes[0].arguments, release="0.5.23", device="b60").ok)

    def test_what_is_given_reaches_the_program(self):
        self.assertEqual(check(MODEL, release="0.5.11").sglang_version, "0.5.11")
        report = check(MODEL, env={"SGLANG_NO_SUCH_THING": "1"}, device="b580", device_count=2, options=["--require", "model"])
        self.assertTrue(any("SGLANG_NO_SUCH_THING" in f.message for f in report.findings))
        self.assertEqual(report.raw["facts"]["device"]["count"], 2)
        self.assertFalse(check([*MODEL, "--page-size", "32", "--attention-backend", "intel_xpu"], fail_on="change").ok)
        config = ROOT / "tests/data/models"
        self.assertIn("model", check(["--model-path", "no/such"], model_config=next(config.glob("*/config.json"))).raw["facts"])

    def test_no_answer_is_an_exception_that_says_why(self):
        with self.assertRaisesRegex(NoReport, "9.9") as caught:
            check(MODEL, release="9.9")
        self.assertEqual(caught.exception.exit_status, 2)
        with self.assertRaisesRegex(NoReport, "cannot start"):
            check(MODEL, program="/no/such/program")
        with self.assertRaisesRegex(NoReport, "cannot start"):
            check(["--model-path", "a\0b"])
        with self.assertRaisesRegex(TypeError, "list of words"):
            check("--model-path x")

    def test_another_program_is_not_believed(self):
        for script, why in (("echo '{\"format_version\": 99}'", "format 99"), ("echo words; exit 0", "no report"),
                            ("echo '{\"format_version\": 1, \"verdict\": \"pass\"}'", "no report"), ("sleep 5", "within")):
            with tempfile.TemporaryDirectory() as folder, self.subTest(script):
                program = pathlib.Path(folder, "xpu-preflight")
                program.write_text(f"#!/bin/sh\n{script}\n")
                program.chmod(0o755)
                with self.assertRaisesRegex(NoReport, why):
                    check(MODEL, program=program, timeout=0.5 if "sleep" in script else 30)

    def test_the_module_runs_as_the_program(self):
        run = subprocess.run([sys.executable, "-m", "xpu_preflight", "--version"], check=True, capture_output=True, text=True,
                             env=dict(os.environ, PYTHONPATH=str(ROOT / "packaging/python")))
        self.assertRegex(run.stdout, r"^xpu-preflight \d+\.\d+\.\d+")

    def test_it_is_typed(self):
        self.assertTrue((pathlib.Path(xpu_preflight.__file__).parent / "py.typed").is_file())


unittest.main()
