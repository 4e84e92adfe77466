#!/usr/bin/env python3
"""What the classes of a release do in methods that SGLang asks for by name, read from its sources without running them.

  model_methods.py RELEASE=SRT/MODELS... > tests/data/model_methods.txt     releases in order

A line for each class that a configuration can name (EntryClass) and each release in which its answer is another than in
the one before: class, release, and of these words those that hold:

  EAGLE3 DFLASH DSPARK  it hands the hidden states of chosen layers to a draft of that kind: itself, by a class it inherits
                        from, or by one of its file where it passes on what it lacks. Not asked of draft classes and
                        MindSpore's: no target is one
  HEAD EMBED            its set_embed_and_head, set_embed calls torch.cuda.synchronize() whatever the device
  EXPERTS               it says how many experts it has (get_model_config_for_expert_location). Not asked of draft classes
                        and MindSpore's: no recorder of experts is made for them
  DENSE                 it, and what it names of srt/models, builds no experts whatever is configured
"""
import ast
import pathlib
import re
import sys

CAPTURES = {word: f"set_{word.lower()}_layers_to_capture" for word in ("EAGLE3", "DFLASH", "DSPARK")}
SYNCHRONIZES = {"HEAD": "set_embed_and_head", "EMBED": "set_embed"}
COUNTS = "get_model_config_for_expert_location"
# What builds experts, and what looks up a class by the configuration.
BUILDS_EXPERTS = re.compile(r"num_experts|num_local_experts|experts\b|[mM]o[eE]\b|SparseMoe|_get_sgl_model_cls")
NO_TARGET = re.compile(r"(MTP|NextN|Eagle3?|AssistantForCausalLM)$|^MindSpore")


def names_of(node):
    """The names that a statement of a class gives to methods, or to what it takes from others."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []


class File:
    def __init__(self, path):
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
        self.imports, self.classes, self.entries, self.named = {}, {}, [], {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self.imports.update({n.asname or n.name: (node.module.rpartition(".")[2], n.name) for n in node.names})
        for node in tree.body:
            self.named.update(dict.fromkeys([node.name] if isinstance(node, ast.ClassDef) else names_of(node), node))
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = ([b.id for b in node.bases if isinstance(b, ast.Name)],
                                           {name: f for f in node.body for name in names_of(f)})
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EntryClass":
                self.entries = [n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)]


def method_of(files, at, name, method):
    """Its definition, as Python finds it."""
    if name not in files[at].classes:
        at, name = files[at].imports.get(name, ("", ""))
        return method_of(files, at, name, method) if at in files and name in files[at].classes else None
    bases, methods = files[at].classes[name]
    if method in methods:
        return methods[method]
    return next(filter(None, (method_of(files, at, base, method) for base in bases)), None)


def captures(files, at, name, method):
    passes_on = method_of(files, at, name, "__getattr__") is not None
    return method_of(files, at, name, method) is not None \
        or passes_on and any(method in methods for _, methods in files[at].classes.values())


def synchronizes(files, at, name, method):
    found = method_of(files, at, name, method)
    return isinstance(found, ast.FunctionDef) and any(isinstance(s, ast.Expr) and ast.unparse(s) == "torch.cuda.synchronize()"
                                     for s in found.body)


def without_imports(node):
    """Its text but for the paths that it imports from: a kernel for experts may serve a dense layer."""
    kept = ast.parse(ast.unparse(node))
    for outer in ast.walk(kept):
        for field, body in ast.iter_fields(outer):
            if isinstance(body, list) and any(isinstance(x, ast.ImportFrom) for x in body):
                setattr(outer, field, [x for x in body if not isinstance(x, ast.ImportFrom)] or [ast.Pass()])
    return ast.unparse(kept)


def is_dense(files, at, name):
    reached, following = set(), [(at, name)]
    while following:
        at, name = place = following.pop()
        if place in reached:
            continue
        reached.add(place)
        imported = files[at].imports.get(name, ("", ""))
        if name in files[at].named:
            node = files[at].named[name]
            if BUILDS_EXPERTS.search(without_imports(node)):
                return False
            following += [(at, n.id) for n in ast.walk(node) if isinstance(n, ast.Name)]
        elif imported[0] in files:
            following.append(imported)
        elif imported[1] in files:  # the file itself
            following += [(imported[1], n) for n in files[imported[1]].named]
    return True


def answers(folder):
    files = {path.stem: File(path) for path in sorted(pathlib.Path(folder).rglob("*.py"))}
    return {name: [word for word, method in CAPTURES.items()
                   if not NO_TARGET.search(name) and captures(files, at, name, method)]
            + [word for word, method in SYNCHRONIZES.items() if synchronizes(files, at, name, method)]
            + ["EXPERTS"] * (not NO_TARGET.search(name) and method_of(files, at, name, COUNTS) is not None)
            + ["DENSE"] * is_dense(files, at, name)
            for at, file in files.items() for name in file.entries}


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
