"""What SGLang will do with its launch arguments on an Intel GPU, told before the launch.

    from xpu_preflight import check

    report = check(["--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "32"])
    if not report.ok:
        for finding in report.errors:
            print(finding.rule, finding.message, finding.fix)

The work is done by the program `xpu-preflight`, which the same package installs; this module starts it and reads its
report. Everything that the program says is in `Report.raw`, in the words of docs/outcomes.md.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

__all__ = ["Finding", "Fix", "NoReport", "Report", "Value", "check", "find_program"]

_FORMAT_VERSION = 1
_PROGRAM = "xpu-preflight.exe" if os.name == "nt" else "xpu-preflight"
PathLike = Union[str, "os.PathLike[str]"]


class NoReport(RuntimeError):
    """The program did not answer: it is missing, refused its options, failed, or took too long."""

    def __init__(self, message: str, exit_status: Optional[int] = None) -> None:
        super().__init__(message)
        self.exit_status = exit_status


@dataclass(frozen=True)
class Finding:
    rule: str  # "PG003"
    severity: str  # error, warning, change, info
    message: str
    why: str
    fix: str
    source: str
    field: Optional[str]  # SGLang's name of the value, as in Report.resolved
    refs: Sequence[str]
    certainty: str  # certain, estimated, likely, to be confirmed on hardware


@dataclass(frozen=True)
class Fix:
    """Arguments without the errors: they were resolved and checked by every rule."""

    arguments: Sequence[str]
    command: str
    diff: Sequence[str]


@dataclass(frozen=True)
class Value:
    value: Any
    initial: Any  # before SGLang changed it
    given: bool
    changed_by: Sequence[str]  # SGLang's steps, in order


@dataclass(frozen=True)
class Report:
    verdict: str  # pass, clean, doubtful, incomplete, fail, refused, …: README.md has all of them
    exit_status: int
    sglang_version: str
    findings: Sequence[Finding]
    fixes: Sequence[Fix]
    resolved: Mapping[str, Value]  # fields that were given or changed
    raw: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Nothing at or above `fail_on`, and no kernel that was wrong. Not run is not `pass`: look at the verdict."""
        return self.exit_status == 0

    @property
    def errors(self) -> Sequence[Finding]:
        return [f for f in self.findings if f.severity == "error"]

    @property
    def warnings(self) -> Sequence[Finding]:
        return [f for f in self.findings if f.severity == "warning"]


def find_program() -> str:
    """The program of this package: $XPU_PREFLIGHT, then beside this interpreter, then on the PATH."""
    named = os.environ.get("XPU_PREFLIGHT")
    if named:
        return named
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent), sysconfig.get_path("scripts", f"{os.name}_user")]
    for folder in folders:
        candidate = Path(folder) / _PROGRAM
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which(_PROGRAM)
    if found is None:
        raise NoReport("xpu-preflight is not installed beside this Python, and not on the PATH")
    return found


def check(
    arguments: Sequence[str],
    *,
    release: Optional[str] = None,
    device: Optional[str] = None,
    device_count: Optional[int] = None,
    env: Optional[Mapping[str, str]] = None,
    model_config: Optional[PathLike] = None,
    kernel: bool = False,
    fail_on: Optional[str] = None,
    options: Sequence[str] = (),
    program: Optional[PathLike] = None,
    timeout: float = 300.0,
) -> Report:
    """Checks the arguments of `python -m sglang.launch_server`.

    release       SGLang's, "0.5.23"; left out: as the program finds it
    device        the card, "b60"; left out: this machine's
    env           environment variables of the launch
    model_config  a config.json to use for the model
    kernel        run the decode kernel on an OpenCL device, too
    options       further options of `xpu-preflight check`, as they would be typed
    timeout       seconds until NoReport
    """
    if isinstance(arguments, str):
        raise TypeError("arguments is a list of words; shlex.split makes one of a text")
    words = [os.fspath(program) if program is not None else find_program(), "check", "--format", "json"]
    for option, value in (("--sglang-version", release), ("--device-profile", device), ("--device-count", device_count),
                          ("--model-config", model_config), ("--fail-on", fail_on)):
        if value is not None:
            words += [option, str(value)]
    for name, text in (env or {}).items():
        words += ["--env", f"{name}={text}"]
    if not kernel:
        words.append("--no-kernel")
    words += [*options, "--", *arguments]
    return _report(_answer(words, timeout))


def _answer(words: Sequence[str], timeout: float) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise NoReport(f"{words[0]} did not answer within {timeout:g} seconds") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in a word
        raise NoReport(f"cannot start {words[0]}: {error}") from error


def _report(answer: "subprocess.CompletedProcess[str]") -> Report:
    try:
        raw = json.loads(answer.stdout)
        if raw["format_version"] != _FORMAT_VERSION:
            raise NoReport(f"the report has format {raw['format_version']}; this module reads {_FORMAT_VERSION}")
        return Report(
            verdict=raw["verdict"],
            exit_status=raw["exit_status"],
            sglang_version=raw["sglang_version"],
            findings=[_finding(f) for f in raw["findings"]],
            fixes=[Fix(f["arguments"], f["command"], f["diff"]) for f in raw["fixes"]],
            resolved={name: _value(v) for name, v in raw["resolved"].items()},
            raw=raw,
        )
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        why = answer.stderr.strip() or f"the answer is no report: {answer.stdout[:200]!r}"
        raise NoReport(f"xpu-preflight ended with {answer.returncode}: {why}", answer.returncode) from error


def _finding(raw: Mapping[str, Any]) -> Finding:
    return Finding(raw["rule"], raw["severity"], raw["message"], raw["why"], raw["fix"], raw["source"], raw["field"], raw["refs"], raw["certainty"])


def _value(raw: Mapping[str, Any]) -> Value:
    return Value(raw["value"], raw["initial"], raw["given"], [change["step"] for change in raw["changes"]])
