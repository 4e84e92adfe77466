#!/usr/bin/env python3
"""Write environment.txt: make_environment.py FOLDER OUT.txt

FOLDER holds one folder per SGLang release with the installed package in it (FOLDER/0.5.23/sglang). A line of the result
is a name SGLANG_… or SGL_… that the release's Python files mention, with the releases that do: first-last, several
spans where it went and came back. A name that ends in "_" is a beginning to which the code adds the rest. A name that a
release only warns about has ">" behind its spans, with the first such release and what to use instead, where
SGLang says so. Regenerate it when a release is added.
"""
import ast
import pathlib
import re
import sys

NAME = re.compile(r"\b(?:SGLANG|SGL)_[A-Z0-9_]*[A-Z0-9_]\b")
WORD = re.compile(r"SGLANG_[A-Z0-9_]+|--[a-z][a-z0-9-]+")


def number(release):
    return [int(n) for n in re.findall(r"\d+", release)[:3]]


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


def spans(having, releases):
    out = []
    for i, release in enumerate(releases):
        if release not in having:
            continue
        if out and out[-1][1] == i - 1:
            out[-1][1] = i
        else:
            out.append([i, i])
    return ",".join(f"{releases[a].split('.')[2]}-{releases[b].split('.')[2]}" for a, b in out)


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    releases = sorted((p.name for p in folder.iterdir() if (p / "sglang").is_dir()), key=number)
    having, old = {}, {}
    for release in releases:
        package = folder / release / "sglang"
        gone = deprecated(ast.parse((package / "srt" / "environ.py").read_text()))
        for name, instead in gone.items():
            old.setdefault(name, [release, ""])
            old[name][1] = instead or old[name][1]
        for file in package.rglob("*.py"):
            for name in set(NAME.findall(file.read_text(errors="replace"))):
                having.setdefault(name, set()).add(release)
    lines = [f"# Environment variables that SGLang {releases[0]} to {releases[-1]} mentions: name, releases 0.5.N,",
             "# then, of names that are only warned about, > the first such release and what to use instead."]
    for name, found in sorted(having.items()):
        line = f"{name} {spans(found, releases)}"
        if name in old:
            first, instead = old[name]
            line += f" >{first.split('.')[2]}" + (f" {instead}" if instead else "")
        lines.append(line)
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
