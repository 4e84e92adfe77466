#!/usr/bin/env python3
"""Everything printed is printed by report/: no other room writes to standard output or error, and no command makes text.

  only_report_prints.py ROOT      fails on a room that prints, and on a command that builds lines, colours or JSON
"""
import pathlib
import re
import sys

PRINTS = re.compile(r"std::w?(cout|cerr|clog|print|println)\b|\bfmt::print|\bspdlog::(trace|debug|info|warn|error|critical)\b|"
                    r"(?<![\w.>])(std::|::)?(f|d|v|vf|vd|w|fw)?printf\s*\(|"
                    r"(?<![\w.>])(std::|::)?(fwrite|f?puts|f?putc|putchar|perror)\s*\(|"
                    r"\bwrite\s*\(\s*(1|2|STD(OUT|ERR)_FILENO)\b|\busing namespace std\b")
# A line's end, a colour or a JSON text: what a report is made of.
MAKES_TEXT = re.compile(r"""\\n"|\.(bold|dim|red|green|yellow|cyan)\(|style\.severity\(|json_dump|\.dump\(|std::(ostringstream|endl)""")
COMMENT = re.compile(r"^\s*//")

# What each pattern is there to find: the test fails where one of them no longer would be.
PLANTED = [
    ("src/rules/x.cpp", "  std::cout << rule.id;"),
    ("src/resolve/core/x.cpp", '  std::printf("%d", 1);'),
    ("src/commands/x.cpp", "  std::cerr << why;"),
    ("src/rules/x.cpp", "  std::fprintf(stderr, text);"),
    ("src/rules/x.cpp", "  fwrite(text, 1, size, stdout);"),
    ("src/rules/x.cpp", "  puts(text);"),
    ("src/rules/x.cpp", "  std::println(text);"),
    ("src/rules/x.cpp", "  (void)::write(2, text, size);"),
    ("src/rules/x.cpp", "  perror(text);"),
    ("src/rules/x.cpp", "  spdlog::error(text);"),
    ("src/rules/x.cpp", "using namespace std;"),
    ("src/commands/x.cpp", '  out += fmt::format("{}: {}\\n", name, value);'),
    ("src/commands/nodes/x.cpp", "  text += style.bold(name);"),
    ("src/commands/x.cpp", "  report::print(report::json_dump(rows));"),
]
SOUND = [
    ("src/report/x.cpp", "  std::cout << text;"),
    ("src/main.cpp", "  std::cout << text;"),
    ("src/commands/x.cpp", '  report::complain(fmt::format("{}: {}", name, why));'),
    ("src/commands/x.cpp", "  if (c == '\\n') ++line;"),
    ("src/rules/x.cpp", "  // std::cout is not ours"),
]


def fault(path, line):
    """What is wrong with a line of that file, or None."""
    room = path.split("/")[1]
    if room in ("report", "main.cpp") or COMMENT.match(line):
        return None
    if PRINTS.search(line):
        return "only report/ prints"
    if room == "commands" and MAKES_TEXT.search(line):
        return "a command makes no text: it hands values to report/"
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    faults = [f"the test misses: {path}: {line}" for path, line in PLANTED if not fault(path, line)]
    faults += [f"the test is wrong about: {path}: {line}" for path, line in SOUND if fault(path, line)]
    files = [p for p in sorted((root / "src").rglob("*")) if p.suffix in (".h", ".cpp")]
    for file in files:
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if what := fault(path, line):
                faults.append(f"{path}:{number}: {what}")
    if sum("commands" in p.parts for p in files) < 20:
        faults.append("hardly a command was found: the test looks in the wrong place")
    print("\n".join(faults) or f"none of {len(files)} files prints that should not")
    sys.exit(bool(faults))


main()
