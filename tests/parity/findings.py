#!/usr/bin/env python3
"""How good the findings are, counted over the recorded launches of releases (facts.py).

  findings.py PROGRAM RECORDED [RELEASE...] [--table FILE]

For each release: expected references told and launches marked as working without an error (late-cases.jsonl of the
folder RECORDED), launches of SGLang's own Intel tests with an error (upstream-launches.jsonl there), recorded launches
with errors that have a re-checked fix, with the reasons where there is none, and which rules call an accepted launch an
error. Then the remedies that findings name, each carried out alone (remedies.py), by rule; --table writes them as
docs/remedies.md has it.
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import facts
import remedies


def lines(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def check(program, recorded, release, cases, *options):
    return facts.checked(program, release, recorded / "models", cases, *options)


def errors(row):
    return [f for f in row["findings"] if f["severity"] == "error"]


def references(row):
    return {ref for f in row["findings"] if f["severity"] in ("error", "warning") for ref in f["refs"]}


def late(program, recorded, release):
    cases = [c for c in lines(recorded / "late-cases.jsonl") if c["release"] == release]
    rows = check(program, recorded, release, cases)
    expected = [(c, ref) for c in cases for ref in c["expect"]]
    missed = [f"{c['id']} {ref}" for c, ref in expected if ref not in references(rows[c["id"]])]
    working = [c["id"] for c in cases if not c["expect"]]
    false = [i for i in working if errors(rows[i])]
    print(f"  late cases: {len(expected) - len(missed)} of {len(expected)} references told {missed or ''}; "
          f"{len(false)} of {len(working)} working launches with an error {false or ''}")


def upstream(program, recorded, release):
    cases = [c for c in lines(recorded / "upstream-launches.jsonl") if release in c["ok_in"]]
    rows = check(program, recorded, release, cases)
    wrong = [f"{c['id']} {errors(rows[c['id']])[0]['rule']}" for c in cases if errors(rows[c["id"]])]
    print(f"  upstream launches: {len(wrong)} of {len(cases)} with an error {wrong or ''}")


def why_none(row):
    first = errors(row)[0]
    if "--model-path is required" in first["message"]:
        return "no model is named"
    if first["rule"] == "RF016" or first["fix"].startswith("the model's files"):
        return "the model's configuration is refused"
    return row.get("no_fix", "?")


def fixes(recorded, rows):
    """Of the recorded launches, and what `check --fixes` told of each."""
    count = sum(len(errors(r)) for r in rows.values())
    fixed = sum(len(errors(r)) for r in rows.values() if r.get("fixes"))
    print(f"  error findings with a re-checked fix: {fixed} of {count} ({fixed / max(count, 1):.1%})")
    other = [r for r in rows.values() if r.get("fixes") and all("stored_as" in fix for fix in r["fixes"])]
    print(f"    {sum(len(errors(r)) for r in other):4} of them, in {len(other)} launches, need another checkpoint of the model")
    for why, n in collections.Counter(why_none(r) for r in rows.values() if errors(r) and not r.get("fixes")).most_common():
        print(f"    {n:4} launches without: {why}")
    late_rules = collections.Counter(f["rule"] for i, r in rows.items() if recorded[i] == "ok" for f in errors(r))
    accepted = sum(outcome == "ok" for outcome in recorded.values())
    print(f"  errors over {accepted} accepted launches, by rule: {dict(late_rules.most_common())}")


def remedies_of(program, release):
    """What is told of the recorded launches, once, and what became of each remedy in it, as remedies.table has it."""
    with tempfile.TemporaryDirectory() as folder:
        path, recorded = facts.unpack(release, pathlib.Path(folder))
        models, cases = path.parent / "models", lines(path)
        rows = remedies.check(program, release, models, cases, "--fixes")
        fixes({row["id"]: row["outcome"] for row in recorded}, rows)
        return remedies.table(program, release, models, cases, rows)


def main():
    words, table = sys.argv[1:], None
    if len(words) < 2 or "--help" in words:
        sys.exit(__doc__)
    if "--table" in words:
        at = words.index("--table")
        table = pathlib.Path(words[at + 1])
        del words[at:at + 2]
    program, recorded, *releases = words
    tables = {}
    recorded = pathlib.Path(recorded).resolve()
    for release in releases or facts.releases():
        print(release)
        late(program, recorded, release)
        upstream(program, recorded, release)
        tables[release], none, examples = remedies_of(program, release)
        remedies.print_table(tables[release], none)
        print("".join(f"    {e}\n" for e in examples[:5]), end="", flush=True)
    if table:
        head = subprocess.run(["git", "-C", str(remedies.SOURCE), "rev-parse", "--short", "HEAD"],
                              capture_output=True, text=True, check=True).stdout.strip()
        table.write_text(remedies.markdown(tables, dict.fromkeys(tables, f"the build of {head}")))


if __name__ == "__main__":
    main()
