#!/usr/bin/env python3
"""`./dev release` adds a release to environment.txt and messages.txt and leaves what they say of the others: what they read
they write the same, and a release that was made up for this test comes in with what it brought, changed and dropped."""
import pathlib
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs/sglang"
sys.path.insert(0, str(CONFIGS))
import make_environment  # noqa: E402
import make_messages  # noqa: E402

ENVIRON = """class Envs:
    SGLANG_NEW = EnvBool(True)
    SGLANG_KEPT = EnvInt(3)
    SGLANG_OTHER = EnvInt(4)
_DEPRECATED_ENVS = {"SGLANG_OLD": "use --new"}
"""
READS = "envs.SGLANG_NEW; envs.SGLANG_KEPT; envs.SGLANG_OTHER; os.getenv('SGLANG_OLD')\n"
KNOWN = """# Environment variables that SGLang 0.5.11 to 0.5.23 mentions
SGLANG_GONE 11- =bool:False@11-
SGLANG_KEPT 11- =int:3@11-
SGLANG_OLD 12-
SGLANG_OTHER 11- =int:2@11-
"""
WANTED = ["SGLANG_GONE 11-23 =bool:False@11-23", "SGLANG_KEPT 11- =int:3@11-", "SGLANG_NEW 24- =bool:True@24-",
          "SGLANG_OLD 12- >24 --new", "SGLANG_OTHER 11- =int:2@11-23 =int:4@24-"]
ARGUMENTS = """def check():
    raise ValueError("the page is too wide for this card")
    raise ValueError("no lantern burns under the bridge")
"""
MESSAGES = {("too wide", "ValueError", "check", "srt/server_args.py", ""): [(11, 12), (14, 23)],
            ("quite gone", "ValueError", "check", "srt/server_args.py", ""): [(11, 23)]}
faults = []


def expect(found, wanted, what):
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")


environment = (CONFIGS / "environment.txt").read_text(encoding="utf-8")
expect(make_environment.Table(environment).text() == environment, True, "environment.txt is written as it was read")
with tempfile.TemporaryDirectory() as folder:
    package = pathlib.Path(folder) / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "srt/environ.py").write_text(ENVIRON)
    (package / "srt/reads.py").write_text(READS)
    (package / "srt/server_args.py").write_text(ARGUMENTS)
    table = make_environment.Table(KNOWN)
    table.add(24, package)
    expect(table.text().splitlines()[3:], WANTED, "variables with a release that was added")
    once = table.text()
    table.add(24, package)
    expect(table.text(), once, "variables with a release that was added twice")

    file = pathlib.Path(folder) / "messages.txt"
    make_messages.write(make_messages.read(CONFIGS / "messages.txt"), file)
    expect(file.read_text(encoding="utf-8") == (CONFIGS / "messages.txt").read_text(encoding="utf-8"), True, "messages.txt is written as it was read")
    make_messages.write(MESSAGES, file)
    make_messages.add("0.5.24", package, file)
    rows = make_messages.read(file)
    for row, spans in zip(MESSAGES, ([(11, 12), (14, 24)], [(11, 23)])):
        expect(rows.pop(row), spans, row[0])
    expect(sorted(rows.values()), [[(24, 24)]], "a message that was not there")
    once = file.read_text(encoding="utf-8")
    make_messages.add("0.5.24.post1", package, file)
    expect(file.read_text(encoding="utf-8"), once, "messages with a release that is known")
print("\n".join(faults) or "a release comes in, and the others stay as they are")
sys.exit(bool(faults))
