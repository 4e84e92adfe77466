"""docs/remedies.md adds up, and no remedy of it fails: remedies_table.py SOURCE TOOL

The page is made by ./dev findings from remedies.markdown, which is asked here over counts whose sums are known; but for
its numbers it is what the script would write now, over the releases that stand in it.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "tests" / "parity"))
import facts  # noqa: E402
import remedies  # noqa: E402


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def builds_in(text):
    """{release: the build that counted it}, as the page tells."""
    told = re.search(r"^Counted: (.*)\.$", text, re.M)
    parts = [part.partition(" by ") for part in told[1].split("; ")] if told else []
    return {release: build for releases, _, build in parts for release in releases.split(", ")}


def form_faults(text, releases):
    """What differs from what remedies.markdown writes over those releases, but for the numbers."""
    builds = builds_in(text)
    if set(builds) != set(releases) or not all(builds.values()):
        return ["the page does not say which build counted which release"]
    frame = remedies.markdown({release: {} for release in releases}, builds).splitlines()
    lines = [line for line in text.splitlines() if not line.startswith("| ") or line == frame[-3]]
    faults = [f"the page has {line!r} for {wanted!r}" for line, wanted in zip(lines, frame[:-1]) if line != wanted]
    cells = {len(row) for row in rows_of(text)}
    return faults + ([] if len(lines) == len(frame) - 1 and len(cells) == 1 else ["the page has other lines or columns"])


def faults_of(text, known):
    head, *rows = rows_of(text)
    faults = []
    *rules, last = rows
    numbers = range(1, 1 + len(remedies.COLUMNS))
    for row in rows:
        applied, *parts = (int(row[i]) for i in numbers)
        if applied != sum(parts):
            faults.append(f"{row[0]}: {applied} applied, and {sum(parts)} told of")
        shares = [tuple(map(int, cell.split("/"))) for cell in row[1 + len(remedies.COLUMNS):] if cell]
        if sum(n for _, n in shares) != applied or sum(n for n, _ in shares) != applied - parts[-1]:
            faults.append(f"{row[0]}: the releases add up to something else")
    for i in numbers:
        if sum(int(row[i]) for row in rules) != int(last[i]):
            faults.append(f"{head[i]}: the rules add up to something else")
    faults += [f"{row[0]} is no rule" for row in rules if row[0] not in known]
    faults += [f"{row[0]}: {row[len(remedies.COLUMNS)]} remedies fail" for row in rules if row[len(remedies.COLUMNS)] != "0"]
    return faults


def main():
    known = {r["rule"] for r in json.loads(subprocess.run([sys.argv[2], "rules", "--format", "json"], capture_output=True, text=True, check=True).stdout)}
    count = collections.Counter
    made = remedies.markdown({"0.5.1": {("PG001", "option"): count(holds=2, uncovers=1), ("PG001", "release"): count(holds=1)},
                              "0.5.2": {("PG002", "option"): count(holds=1, lessens=4, fails=1)}},
                             {"0.5.1": "one build", "0.5.2": "another"})
    assert "\nCounted: 0.5.1 by one build; 0.5.2 by another.\n" in made, made
    assert form_faults(made.replace("; 0.5.2 by another", ""), ["0.5.1", "0.5.2"])
    assert form_faults(made.replace("by another", "by "), ["0.5.1", "0.5.2"])
    assert rows_of(made)[1:] == [["PG001", "4", "3", "1", "0", "0", "4/4", ""], ["PG002", "6", "1", "0", "4", "1", "", "5/6"],
                                 ["all", "10", "4", "1", "4", "1", "4/4", "5/6"]], made
    assert faults_of(made, known) == ["PG002: 1 remedies fail"], faults_of(made, known)
    assert faults_of(re.sub(r"\| 4 \| 3 \|", "| 4 | 2 |", made, count=1), known)
    assert not form_faults(made, ["0.5.1", "0.5.2"]), form_faults(made, ["0.5.1", "0.5.2"])
    assert form_faults(made, ["0.5.1"]) and form_faults(made.replace("carried out alone", "tried"), ["0.5.1", "0.5.2"])
    words = ["--model", "m", "--tp", "2", "--enable-lora", "--enable-lora-overlap-loading", "--model-loader-extra-config", "{"]
    assert remedies.without(words, "--model-loader-extra-config") == words[:-2]
    assert remedies.without(words, "--enable-lora-overlap-loading") == words[:5] + words[6:]
    assert remedies.without(words, "--tensor-parallel-size") == words[:2] + words[4:]
    assert remedies.without(words, "--model-path") == words[2:]
    text = (SOURCE / "docs" / "remedies.md").read_text(encoding="utf-8")
    releases = rows_of(text)[0][1 + len(remedies.COLUMNS):]
    faults = [f"{r} is missing: ./dev findings writes the page" for r in facts.releases() if r not in releases]
    faults += form_faults(text, facts.releases()) + faults_of(text, known)
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
