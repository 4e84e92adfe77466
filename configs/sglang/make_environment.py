#!/usr/bin/env python3
"""Write a release's environment variables into environment.txt: make_environment.py RELEASE FILE

The interpreter that runs this has the release (`./dev release`); the other releases' entries stay as they are. A release
that is read again takes the place of what it was. Post-releases count as their release, and are left out. A line of FILE
is a name SGLANG_… or SGL_… that the release's Python files mention, with the releases that do: first-last, without a last
where the newest one does, several spans where it went and came back. A name that ends in "_" is a beginning to which the code adds the rest. A name that a
release only warns about has ">" at the end, with the first such release and what to use instead, where SGLang says so.

Between them stands how the name's value is read, "=KIND:DEFAULT@SPANS", for each span that has another kind or default;
DEFAULT is empty where the code computes it. The kinds, of a value that is none:

  bool int float  a field of sglang.srt.environ: warned of, and the default is taken
  one             get_bool_env_var: 1 and true in any case are true, all else is false
  both            one place reads it as bool, another as one
  number          get_int_env_var: the default is taken without a word
  raises          int() or float() over the text: ValueError where it stands

Names that only the servers of images and videos, tests and benchmarks read have no kind.
"""
import ast
import importlib.util
import pathlib
import re
import sys

NAME = re.compile(r"\b(?:SGLANG|SGL)_[A-Z0-9_]*[A-Z0-9_]\b")
WORD = re.compile(r"SGLANG_[A-Z0-9_]+|--[a-z][a-z0-9-]+")


def texts_of(node):
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def deprecated(tree):
    """{name: replacement or ""} of what environ.py itself declares old."""
    out = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_print_deprecated_env" and node.args:
            words = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if words:
                out[words[0]] = words[1] if len(words) > 1 else ""
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        if getattr(target, "id", "") == "_DEPRECATED_ENVS" and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values):
                found = WORD.findall(" ".join(texts_of(value)))
                out[key.value] = found[0] if found else ""
    return out


FIELDS = {"EnvBool": "bool", "EnvInt": "int", "EnvFloat": "float"}
ELSEWHERE = ("multimodal_gen", "test", "benchmark", "lang")


def constant(node, named):
    """The default as Python prints it; "" where the code computes it."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return str(named.get((node.value.id, node.attr), ""))
    try:
        return str(eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}))  # 128 * 1024, 2**31
    except Exception:
        return ""


def declared(tree):
    """{name: (kind, default)} of the typed fields; an old name of a field is read as the field is."""
    named, out = {}, {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for s in node.body:
            if isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant):
                named[(node.name, s.targets[0].id)] = s.value.value
    for node in ast.walk(tree):
        if not (isinstance(node, ast.ClassDef) and node.name == "Envs"):
            continue
        for s in node.body:
            if not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Call) and s.value.args):
                continue
            kind = FIELDS.get(s.value.func.id.removesuffix("WithAlias"))
            if kind is None:
                continue
            names = [s.targets[0].id] + [k.value.value for k in s.value.keywords if k.arg == "deprecated_name"]
            out.update({name: (kind, constant(s.value.args[0], named)) for name in names})
    return out


def read_by_hand(tree, out):
    """Adds {name: {reader: default}} of the places that do not ask a typed field."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in ("get_bool_env_var", "get_int_env_var") and node.args:
            names, reader = texts_of(node.args[0]), "one" if "bool" in called else "number"
            given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "default")]
            default = constant(given[0], {}) if given else ("false" if reader == "one" else "0")
        elif called in ("int", "float") and node.args:
            inside = [n for n in ast.walk(node.args[0]) if isinstance(n, (ast.Call, ast.Subscript))]
            if not any(ast.unparse(n).startswith(("os.getenv(", "os.environ")) for n in inside):
                continue
            names, reader = [t for t in texts_of(node.args[0]) if NAME.fullmatch(t)], "raises"
            given = [n.args[1] for n in inside if isinstance(n, ast.Call) and len(n.args) > 1]
            default = constant(given[0], {}) if given else ""
        else:
            continue
        for name in names:
            out.setdefault(name, {})[reader] = default


def kinds_of(package):
    """{name: "KIND:DEFAULT"} of one release."""
    fields = declared(ast.parse((package / "srt" / "environ.py").read_text()))
    by_hand, through_field = {}, set()
    for file in package.rglob("*.py"):
        if file.relative_to(package).parts[0] in ELSEWHERE:
            continue
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        through_field.update(re.findall(r"\b_?envs\.([A-Z0-9_]+)\b", text))
        if re.search(r"env_var\(|os\.getenv|os\.environ", text):
            read_by_hand(ast.parse(text), by_hand)
    out = {}
    for name in fields.keys() | by_hand.keys():
        readers, field = by_hand.get(name, {}), fields.get(name)
        if not NAME.fullmatch(name):
            continue
        if field and (name in through_field or not readers):
            out[name] = f"both:{field[1]}" if field[0] == "bool" and "one" in readers else ":".join(field)
        else:
            reader = min(readers, key=["one", "number", "raises"].index)
            out[name] = f"{reader}:{readers[reader]}"
    return out


def spans(having, newest):
    out = []
    for release in sorted(having):
        if out and out[-1][1] == release - 1:
            out[-1][1] = release
        else:
            out.append([release, release])
    return ",".join(f"{first}-" + ("" if last == newest else str(last)) for first, last in out)


def releases_in(text, newest):
    return {r for first, last in (span.split("-") for span in text.split(",")) for r in range(int(first), int(last or newest) + 1)}


class Table:
    """The lines of the file: {name: releases}, {name: {kind: releases}}, {name: (first that warns, what to use instead)}."""

    def __init__(self, text):
        self.having, self.kinds, self.old = {}, {}, {}
        newest = re.search(r" to 0\.5\.(\d+) mentions", text).group(1)
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            line, _, warned = line.partition(" >")
            name, having, *kinds = line.split(" =")[0].split() + line.split(" =")[1:]
            self.having[name] = releases_in(having, newest)
            self.kinds[name] = {kind: releases_in(of, newest) for kind, _, of in (k.rpartition("@") for k in kinds)}
            if warned:
                first, _, instead = warned.partition(" ")
                self.old[name] = (int(first), instead)

    def add(self, release, package):
        for having in [*self.having.values(), *(of for kinds in self.kinds.values() for of in kinds.values())]:
            having.discard(release)
        for name, instead in deprecated(ast.parse((package / "srt" / "environ.py").read_text())).items():
            first, before = self.old.get(name, (release, ""))
            self.old[name] = (min(first, release), instead or before)
        for name, kind in kinds_of(package).items():
            self.kinds.setdefault(name, {}).setdefault(kind, set()).add(release)
        for file in package.rglob("*.py"):
            for name in set(NAME.findall(file.read_text(errors="replace"))):
                self.having.setdefault(name, set()).add(release)

    def text(self):
        known = set().union(*self.having.values())
        newest = max(known)
        lines = [f"# Environment variables that SGLang 0.5.{min(known)} to 0.5.{newest} mentions: name, releases 0.5.N,",
                 "# how its value is read (=kind:default@releases; make_environment.py has the kinds),",
                 "# then, of names that are only warned about, > the first such release and what to use instead."]
        for name, having in sorted(self.having.items()):
            if not having:
                continue
            kinds = sorted((min(of), kind, of) for kind, of in self.kinds.get(name, {}).items() if of)
            line = f"{name} {spans(having, newest)}" + "".join(f" ={kind}@{spans(of, newest)}" for _, kind, of in kinds)
            if name in self.old:
                line += " >" + " ".join(str(word) for word in self.old[name] if word)
            lines.append(line)
        return "\n".join(lines) + "\n"


def main():
    release, file = sys.argv[1], pathlib.Path(sys.argv[2])
    if re.fullmatch(r"0\.5\.\d+", release):
        table = Table(file.read_text(encoding="utf-8"))
        table.add(int(release.split(".")[2]), pathlib.Path(importlib.util.find_spec("sglang").origin).parent)
        file.write_text(table.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
