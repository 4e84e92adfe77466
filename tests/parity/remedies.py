#!/usr/bin/env python3
"""Demand that every remedy a finding names works: applied alone, the finding is gone, or a mere note of it is left, and
no error has come.

  remedies.py PROGRAM RELEASE [EVERY]       over the recorded launches of that release, or every so many of them; exit
                                            status 1 when one does not hold
  remedies.py PROGRAM RELEASE FOLDER        over the launches that fresh.py drew there

The remedies are carried out here, on the launch's words, and not by the program's own search. A refusal hides what lies
behind it: a remedy that gets past one, to another, is counted by itself, and so is one that leaves an error a warning;
both have to say so. So does one that brings a warning, or a value that SGLang changes: it names the rule, and a rule
that it names is there.
"""
import collections
import itertools
import json
import pathlib
import re
import sys
import tempfile

import facts

SEVERITIES = ("change", "warning", "error")


def check(program, release, models, cases, *options):
    return facts.checked(program, release, models, cases, "--fail-on", "never", *options)


SOURCE = pathlib.Path(__file__).resolve().parents[2]


def spellings():
    """{flag: all flags that store into the same field}, over all releases."""
    flags = {}
    for row in json.loads((SOURCE / "configs/sglang/options.json").read_text(encoding="utf-8")):
        names = set(row["value"]["flags"])
        for name in set(names):
            names |= flags.get(name, set())
        flags |= {name: names for name in names}
    return flags


FLAGS = spellings()
# How many words belong to an option: a number, or all up to the next option.
WORDS = {flag: {"+": 10**6, "*": 10**6, "?": 1, None: 1}.get(row["value"].get("nargs"), row["value"].get("nargs"))
         for row in json.loads((SOURCE / "configs/sglang/options.json").read_text(encoding="utf-8")) for flag in row["value"]["flags"]}


def is_spelling(word, name):
    """Whether the word stands for the option: one of its flags, or what argparse takes for a beginning of one."""
    flag, group = word.partition("=")[0], FLAGS.get(name, {name})
    if flag in FLAGS or flag == name:
        return flag in group
    return len(flag) > 3 and flag.startswith("--") and any(n.startswith(flag) for n in group)


def without(args, name):
    """The words without the option, its values with it. What stands behind these, and is no option, stays."""
    out, left = [], 0
    for word in args:
        if word.startswith("--"):
            dropping = is_spelling(word, name)
            left = WORDS.get(name, 10**6) if dropping and "=" not in word else 0
        else:
            dropping = left > 0
            left -= 1
        if not dropping:
            out.append(word)
    return out


def without_key(text, name):
    """A --config file's text without the option, the lines of its value with it."""
    kept, dropping = [], False
    for line in text.splitlines(keepends=True):
        key = re.match(r"""["']?([\w-]+)["']?\s*:""", line)
        if key:
            dropping = is_spelling("--" + key[1].replace("_", "-"), name.replace("_", "-"))
        elif line.strip() and not line.startswith((" ", "-", "\t", "]", "}")):
            dropping = False
        if not dropping:
            kept.append(line)
    return "".join(kept)


def dropped(case, name):
    case = case | {"args": without(case["args"], name)}
    if isinstance(case.get("config"), str):
        case["config"] = without_key(case["config"], name)
    return case


PROFILES = {d["id"]: d for d in json.loads((SOURCE / "configs/devices/devices.json").read_text()) if "id" in d}
ASSUMED = {"memory_mib": 24480, "count": 8, "name": "Intel(R) Arc(TM) Pro B60 Graphics", "has_fp64": True}


def other_cards(device, wanted):
    """The launch's cards with others in their place: "b70", "x4" or "b70x4"."""
    card, times, count = (wanted, "", "") if wanted in PROFILES else wanted.rpartition("x")
    device = ASSUMED | (device or {})
    if card:
        profile = PROFILES[card]
        named = next((d for d in PROFILES.values() if d["name"] == device["name"]), profile)
        denied = named["has_fp64"] and not device["has_fp64"]
        device |= {k: profile[k] for k in ("name", "memory_mib", "has_fp64")} | ({"has_fp64": False} if denied else {})
    return device | ({"count": int(count)} if times else {})


def typed(case, option):
    """The word that the launch gives to the option, on its command line or in its --config file."""
    config = case.get("config") if isinstance(case.get("config"), str) else ""
    in_file = re.findall(r"""(?m)^["']?([\w-]+)["']?\s*:\s*["']?(.*?)["']?\s*$""", config)
    words = case["args"] + [word for key, value in in_file for word in ("--" + key, value)]
    return next((after for word, after in zip(words, words[1:]) if word == option), "***")


def carried_out(case, remedy):
    """The launch after each way to take the remedy: every value it names. None: words alone."""
    ways = [case | {"env": dict(case.get("env") or {})}]
    for step, then in itertools.zip_longest(remedy["steps"], remedy["steps"][1:], fillvalue={"name": ""}):
        # *** stands for a word of the launch that may be a secret: of the option that gets another name, and goes next.
        name, values = step["name"], [typed(case, then["name"]) if value == "***" else value for value in step["values"]]
        if step["do"] == "give":
            ways = [w | {"args": w["args"] + [name] + ([v] if v else [])} for w in (dropped(w, name) for w in ways) for v in (values or [""])]
        elif step["do"] == "drop":
            ways = [dropped(w, name) for w in ways]
        elif step["do"] == "set":
            ways = [w | {"env": w["env"] | {name: values[0]}} for w in ways]
        elif step["do"] == "unset":
            ways = [w | {"env": {k: v for k, v in w["env"].items() if k != name}} for w in ways]
        else:
            raise AssertionError(f"not tried before it was told: {step}")
    if "device" in remedy:
        ways = [w | {"device": other_cards(w.get("device"), remedy["device"])} for w in ways]
    return ways


def is_to_try(finding, remedy):
    tried = remedy.get("tried", True)
    return finding["severity"] in SEVERITIES and tried and (remedy["steps"] or "release" in remedy or "stored_as" in remedy or "device" in remedy)


def key(finding):
    if finding["rule"].startswith(("RF", "US")):
        return finding["rule"], re.sub(r"\d", "", finding["message"])
    return finding["rule"], finding["field"]


def outcome(before, finding, after):
    same = [f for f in after["findings"] if key(f) == key(finding) and f["severity"] in SEVERITIES]
    if same:
        return "lessens" if finding["severity"] == "error" and all(f["severity"] == "warning" for f in same) else "stays"
    # A warning that has become an error has come, too.
    known = {key(f): SEVERITIES.index(f["severity"]) for f in before["findings"] if f["severity"] in SEVERITIES}
    added = [f for f in after["findings"] if f["severity"] == "error" and known.get(key(f), -1) < SEVERITIES.index("error")]
    if not added:
        return "holds"
    return "uncovers" if finding["rule"].startswith(("RF", "US")) else "adds " + added[0]["rule"]


def said(remedy):
    """The rules that the remedy says it brings, or leads to."""
    return set(re.findall(r"\b[A-Z]{2}\d{3}\b", remedy.get("words", "")))


def brought(before, after):
    """Rules that tell of the launch with the remedy alone, and would not have been hidden before it."""
    severities = ("change", "warning", "error") if before["outcome"] == "ok" else ("warning", "error")
    known = {key(f) for f in before["findings"]}
    own_model = {"MD001"} if before["outcome"] != "ok" else set()  # SGLang refused the launch before it looked for it
    return {f["rule"] for f in after["findings"] if f["severity"] in severities and key(f) not in known} - own_model


def unsaid(before, remedy, after, came):
    """What the remedy should have said of the launch that it leads to, or should not."""
    if absent := said(remedy) - {f["rule"] for f in after["findings"]}:
        return f"says {' '.join(sorted(absent))}, which is not there"
    if came in ("uncovers", "lessens"):
        return "" if remedy.get("words") else f"is not said to be less than a way out: {came}"
    if came != "holds" or "first step" in remedy.get("words", ""):
        return ""
    new = brought(before, after) - said(remedy)
    return f"brings {' '.join(sorted(new))} without a word" if new else ""


def trials(row, case):
    """(finding, remedy, launch after it) for each remedy of the report, and each value it names."""
    for finding in row["findings"]:
        for remedy in finding["remedies"]:
            # --stored-as looks for the model among a case's words, not in its --config file.
            in_file = "stored_as" in remedy and case.get("config")
            if is_to_try(finding, remedy) and not in_file:
                for way in carried_out(case, remedy):
                    yield finding, remedy, way


def table(program, release, models, cases, rows):
    """Of the rows that `check` told of the cases: outcomes by rule and kind of remedy, and examples of what did not hold."""
    by_id = {c["id"]: c for c in cases}
    groups = collections.defaultdict(list)
    told = []
    for i, row in rows.items():
        for finding, remedy, way in trials(row, by_id[i]):
            way["id"] = f"{len(told)}"
            told.append((row, finding, remedy, way))
            groups[remedy.get("release", release), remedy.get("stored_as", "")].append(way)
    after = {}
    for (other, form), ways in groups.items():
        after |= check(program, other, models, ways, "--no-fixes", *(["--stored-as", form] if form else []))
    counts, examples = collections.defaultdict(collections.Counter), []
    for row, finding, remedy, way in told:
        kind = "release" if "release" in remedy else "checkpoint" if "stored_as" in remedy else "hardware" if "device" in remedy else "option"
        came = outcome(row, finding, after[way["id"]])
        came = unsaid(row, remedy, after[way["id"]], came) or came
        short = came in ("holds", "uncovers", "lessens")
        counts[finding["rule"], kind][came if short else "fails"] += 1
        if not short:
            examples.append(f"{row['id']} {finding['rule']} {came}: {json.dumps(remedy)} on {' '.join(by_id[row['id']]['args'])}")
    none = collections.Counter(f["rule"] for r in rows.values() for f in r["findings"]
                               if f["severity"] in SEVERITIES and not any(is_to_try(f, m) for m in f["remedies"]))
    return counts, none, examples


def print_table(counts, none):
    total = sum(counts.values(), collections.Counter())
    print(f"  remedies tried: {sum(total.values())}; {total['holds']} hold, {total['uncovers']} get past a refusal to another, "
          f"{total['lessens']} leave a warning, {total['fails']} fail")
    for (rule, kind), c in sorted(counts.items()):
        print(f"    {rule} {kind:10} holds {c['holds']:5}  past a refusal {c['uncovers']:5}  fails {c['fails']:5}")
    print(f"  findings with words alone: {dict(none.most_common())}")


COLUMNS = ("applied", "hold", "get past", "lessen", "fail")
INTRO = """# Remedies that were tried

<!-- Written by ./dev findings, over all releases with recorded launches unless it names fewer; do not edit. -->

Every remedy that `check --fixes` names for a recorded launch of these releases, and each value it names, was carried out alone on
the launch's words, by `tests/parity/remedies.py` and not by the program's own search, and the launch checked again. *Hold*: the
finding is gone, or a mere note of it is left, and no error has come. *Get past*: a refusal hides what lies behind it, and behind
this one is another; the remedy says so. *Lessen*: the error has become a warning, and the remedy says so. What is words alone, such
as another kernel package, is not counted: nothing here can try it. Below a release stands how many of those applied hold, get past
or lessen, out of how many; empty: none was named.
"""


def by_rule(counts):
    out = collections.defaultdict(collections.Counter)
    for (rule, _), c in counts.items():
        out[rule] += c
    return out


def cells(count):
    applied = sum(count.values())
    return [applied, count["holds"], count["uncovers"], count["lessens"], count["fails"]]


def counted_by(builds):
    """{release: build} as a sentence: which build counted which releases."""
    of = collections.defaultdict(list)
    for release, build in builds.items():
        of[build].append(release)
    return "Counted: " + "; ".join(f"{', '.join(releases)} by {build}" for build, releases in of.items()) + ".\n"


def markdown(tables, builds):
    """{release: counts} as a table: a row a rule, and a last one for all of them; {release: which build counted it}."""
    releases = list(tables)
    per = {release: by_rule(counts) for release, counts in tables.items()}
    rows = {rule: [per[r].get(rule, collections.Counter()) for r in releases] for rule in sorted({x for p in per.values() for x in p})}
    rows["all"] = [sum(column, collections.Counter()) for column in zip(*rows.values())] or [collections.Counter() for _ in releases]
    out = [INTRO, counted_by(builds), "| rule | " + " | ".join((*COLUMNS, *releases)) + " |", "|---" * (1 + len(COLUMNS) + len(releases)) + "|"]
    for rule, counts in rows.items():
        total = sum(counts, collections.Counter())
        shares = [f"{sum(c.values()) - c['fails']}/{sum(c.values())}" if c else "" for c in counts]
        out.append("| " + " | ".join((rule, *map(str, cells(total)), *shares)) + " |")
    return "\n".join(out) + "\n"


def launches(release, folder, which):
    """The models' folder and the cases; what is unpacked goes below `folder`."""
    drawn = pathlib.Path(which) if which and not which.isdigit() else None
    path = drawn / "cases.jsonl" if drawn else facts.unpack(release, folder)[0]
    with open(path, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    return path.parent / "models", cases[::int(which) if which and not drawn else 1]


def main():
    program, release, *which = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        models, cases = launches(release, pathlib.Path(folder), "".join(which))
        failed = []
        for options in ("--fixes",), ():  # a batch alone searches for nothing, and prints no remedy untried all the same
            counts, none, examples = table(program, release, models, cases, check(program, release, models, cases, *options))
            print(f"  check --batch {' '.join(options)}")
            print_table(counts, none)
            assert sum(sum(c.values()) for c in counts.values()) > 0, "nothing was tried"
            failed += examples
    print("\n".join(failed[:20]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
