#!/usr/bin/env python3
"""Demands that every place that refuses a launch says its rule there, and that RF001, which repeats an exception, has
words of ours to repeat.

  refusals.py ROOT

Read are the calls in src/resolve and src/facts that take a rule (RF). A rule that is a default is one that a new place
forgets. Where upstream's function raises that exception for one cause alone (a row of src/resolve/core/refusal_sites.cpp
without words), the place names that row's rule. What rule recorded refusals have is compared by tests/parity/refusal_rules.py.
"""
import pathlib
import re
import sys

STRING = r'"(?:[^"\\]|\\.)*"'
CALL = re.compile(r"(?<![\w:])(?:r_?\.)?(refuse|require|raise|check)\(\s*(?:r, )?((?:RF::\w+|rule)\b)")


def arguments(text, at):
    """The texts between the commas of a call, `at`: behind its parenthesis."""
    depth, start, found = 1, at, []
    for m in re.compile(rf'R"\(.*?\)"|{STRING}|\'(?:[^\'\\]|\\.)+\'|[(\[{{]|[)\]}}]|,', re.S).finditer(text, at):
        token = m.group()
        depth += (token in "([{") - (token in ")]}") if len(token) == 1 else 0
        if depth == 0 or (token == "," and depth == 1):
            found.append(text[start : m.start()].strip())
            start = m.end()
        if depth == 0:
            break
    return found


def names_in(text, constants):
    """The functions of upstream's that an argument can name."""
    found = re.findall(r'"(\w+)"', text)
    return {name.lstrip("_") for name in found + [constants[k] for k in re.findall(r"\bk\w+", text) if k in constants]}


def main():
    root = pathlib.Path(sys.argv[1])
    table = (root / "src/resolve/core/refusal_sites.cpp").read_text(encoding="utf-8")
    whole = {(exception, function.lstrip("_")): rule for rule, exception, function in
             re.findall(r'\{RF::(\w+), "(\w+)", "(\w+)",\s*\{\}\}', table)}
    faults, rules = [], {}
    for path in sorted(p for room in ("resolve", "facts") for p in (root / "src" / room).rglob("*")):
        if path.suffix not in (".cpp", ".h") or path.name.startswith("refusal_sites"):
            continue
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        defined = [(m.start(), m.groups()) for m in re.finditer(r'constexpr (?:std::string_view|auto|const char\*) (k\w+) = "(\w+)"', text)]

        def say(at, what):
            faults.append(f"{path.relative_to(root)}:{text.count(chr(10), 0, at) + 1}: {what}")

        for m in re.finditer(r"\bRF \w+ = ", text):
            say(m.start(), "a rule by default")
        for m in CALL.finditer(text):
            given = [a for a in arguments(text, text.index("(", m.start()) + 1) if a != "r"]
            rule, rest = given[0].removeprefix("RF::"), given[1:]
            rules[rule] = rules.get(rule, 0) + 1
            constants = dict(pair for at, pair in defined if at < m.start())  # functions have theirs by one name
            exception = "AssertionError" if m.group(1) == "require" else (re.findall(r'^"(\w+)"$', rest[0]) or [""])[0]
            functions = set().union(*(names_in(a, constants) for a in rest[:2]))
            own = {whole[exception, f] for f in functions if (exception, f) in whole}
            if own and rule != "rule" and rule not in own:
                say(m.start(), f"{exception} of {', '.join(functions)} is {', '.join(own)}")
            if rule == "kOther" and any(a in ('""', "{}", "std::string()") for a in rest[1:]):
                say(m.start(), "RF001 without words")
    if len(rules) < len(set(whole.values())) or rules.get("kOther", 0) < 100:
        faults.append(f"only {rules} found: this test reads the sources wrongly")
    print("\n".join(faults) or f"{sum(rules.values())} refusals name their rule, {rules['kOther']} of them RF001")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
