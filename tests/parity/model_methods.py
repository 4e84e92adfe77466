#!/usr/bin/env python3
"""Which classes hand the hidden states of chosen layers to a draft, read from the sources of releases without running them.

  captured_layers.py RELEASE=SRT/MODELS... > tests/data/captured_layers.txt     releases in order

A line for each class that a configuration can name (EntryClass) and each release in which its answer is another than in
the one before: class, release, which of EAGLE3, DFLASH, DSPARK it has the method of; itself, by a class it inherits from,
or by one of its file where it passes on what it lacks. Draft classes and MindSpore's are left out: no target is one.
"""
import ast
import pathlib
import re
import sys

METHODS = {word: f"set_{word.lower()}_layers_to_capture" for word in ("EAGLE3", "DFLASH", "DSPARK")}
NO_TARGET = re.compile(r"(MTP|NextN|Eagle3?|AssistantForCausalLM)$|^MindSpore")


class File:
    def __init__(self, path):
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
        self.imports, self.classes, self.entries = {}, {}, []
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self.imports.update({n.asname or n.name: (node.module.rpartition(".")[2], n.name) for n in node.names})
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = ([b.id for b in node.bases if isinstance(b, ast.Name)],
                                           {f.name for f in node.body if isinstance(f, ast.FunctionDef)})
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EntryClass":
                self.entries = [n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)]


def has(files, at, name, method):
    if name not in files[at].classes:
        module, name = files[at].imports.get(name, ("", ""))
        return module in files and name in files[module].classes and has(files, module, name, method)
    bases, methods = files[at].classes[name]
    passes_on = "__getattr__" in methods and any(method in m for _, m in files[at].classes.values())
    return method in methods or passes_on or any(has(files, at, base, method) for base in bases)


def answers(folder):
    files = {path.stem: File(path) for path in sorted(pathlib.Path(folder).rglob("*.py"))}
    return {name: [word for word, method in METHODS.items() if has(files, at, name, method)]
            for at, file in files.items() for name in file.entries if not NO_TARGET.search(name)}


def main():
    before = {}
    for word in sys.argv[1:]:
        release, _, folder = word.partition("=")
        for name, said in sorted(answers(folder).items()):
            if before.get(name) != said:
                print(name, release, *said)
            before[name] = said


if __name__ == "__main__":
    main()
