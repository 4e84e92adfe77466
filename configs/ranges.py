#!/usr/bin/env python3
"""Tables over all releases, each entry written once with the releases that have it.

  ranges.py show TABLE.json RELEASE NAME     an entry in one release
  ranges.py check                            demands that every table is as it would be written: nothing twice, nothing
                                             split; and that a release's entries are those that it came with
  ranges.py release RELEASE FOLDER           writes a release into every table, from FOLDER's options.json, defaults.json
                                             (tests/parity/record.py), classes.json (configs/transformers/generate.py)
                                             and model_classes.json (configs/sglang/make_model_classes.py)

A table is a JSON array, a line an entry: {"name": …, "value": …, "first": …, "last": …}, sorted by name. Without "first"
it holds since the first release of configs/releases.txt, without "last" it still does: a new release adds a line for
what it brought, and a "last" to what it changed or dropped.

digests.txt holds, for each release and table, a sum of the entries that were read from the real release. An entry that is
edited, or moved by one release, is told by it.
"""
import hashlib
import json
import pathlib
import re
import sys

RELEASES = pathlib.Path(__file__).resolve().parent / "releases.txt"
DIGESTS = RELEASES.parent / "digests.txt"


def key(release):
    """0.5.12 < 0.5.12.post1 < 0.5.13"""
    numbers = [int(n) for n in re.findall(r"\d+", release)]
    return numbers + [0] * (4 - len(numbers))


def releases():
    return RELEASES.read_text().split()


def read(path, known=None):
    """{release: {name: value}}"""
    known = known or releases()
    tables = {r: {} for r in known}
    for row in json.loads(path.read_text(encoding="utf-8")):
        first, last = row.get("first", known[0]), row.get("last", known[-1])
        for release in known[known.index(first) : known.index(last) + 1]:
            tables[release][row["name"]] = row["value"]
    return tables


def written(tables):
    """The text of a table's file."""
    known = sorted(tables, key=key)
    rows = []
    for name in sorted({n for table in tables.values() for n in table}):
        run = None  # the entry that the release before had
        for release in known:
            if name not in tables[release]:
                run = None
                continue
            text = json.dumps(tables[release][name], ensure_ascii=False)
            if run is None or run["text"] != text:
                run = {"name": name, "text": text, "first": release}
                rows.append(run)
            run["last"] = release
    lines = []
    for row in rows:
        line = f'{{"name": {json.dumps(row["name"])}, "value": {row["text"]}'
        line += f', "first": "{row["first"]}"' if row["first"] != known[0] else ""
        line += f', "last": "{row["last"]}"' if row["last"] != known[-1] else ""
        lines.append(line + "}")
    return "[\n" + ",\n".join(lines) + "\n]\n"


def parts_of(folder):
    """{table: entries}"""
    configs = RELEASES.parent
    load = lambda name: json.loads((folder / name).read_text(encoding="utf-8"))  # noqa: E731
    classes = load("classes.json")
    parts = {configs / "transformers" / f"{part}.json": classes.pop(part) for part in ("types", "registry", "functions", "classes")}
    parts[configs / "transformers/settings.json"] = classes
    return {configs / "sglang/options.json": load("options.json"), configs / "sglang/defaults.json": load("defaults.json"),
            configs / "sglang/model_classes.json": load("model_classes.json"), **parts}


def digest(entries):
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()[:16]


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


def digests():
    """{(release, table): sum}"""
    return {(r, t): d for r, t, d in (line.split() for line in DIGESTS.read_text(encoding="utf-8").splitlines())}


def absorb(release, folder):
    """The release may be a new one, the newest or one between, or one known already; the others stay as they are."""
    known, sums = releases(), digests()
    for path, entries in parts_of(folder).items():
        path.write_text(written({**read(path, known), release: entries}), encoding="utf-8")
        sums[release, name_of(path)] = digest(entries)
    lines = sorted(sums.items(), key=lambda row: (key(row[0][0]), row[0][1]))
    DIGESTS.write_text("".join(f"{r} {table} {d}\n" for (r, table), d in lines), encoding="utf-8")
    RELEASES.write_text("".join(f"{r}\n" for r in sorted({*known, release}, key=key)))


def check():
    tables = [p for folder in ("sglang", "transformers") for p in (RELEASES.parent / folder).glob("*.json")]
    wrong = [str(p) for p in tables if written(read(p)) != p.read_text(encoding="utf-8")]
    print(f"{len(tables) - len(wrong)} of {len(tables)} tables are as they would be written", *wrong)
    found = {(release, name_of(p)): digest(entries) for p in tables for release, entries in read(p).items()}
    known = digests()
    other = [f"{r} {t} is not what was read from the release" for r, t in sorted(found.keys() | known.keys())
             if found.get((r, t)) != known.get((r, t))]
    print(f"{len(found) - len(other)} of {len(found)} tables of one release are what was read from it", *other, sep="\n")
    wrong += other
    sys.exit(1 if wrong or not tables else 0)


def main():
    command, *arguments = sys.argv[1:]
    if command == "check":
        check()
    if command == "show":
        print(json.dumps(read(pathlib.Path(arguments[0]))[arguments[1]].get(arguments[2]), indent=1, ensure_ascii=False))
    else:
        absorb(arguments[0], pathlib.Path(arguments[1]))


if __name__ == "__main__":
    main()
