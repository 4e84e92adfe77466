#!/usr/bin/env python3
"""Read over which ranks the model classes of an installed SGLang cut attention: rows of tests/data/attention_ranks.txt.

  attention_ranks.py OUT        run by an interpreter that has SGLang

A class is followed to the classes that its text names, as far as those that make a RadixAttention. They ask the context
either for tp_size or for attn_tp_size. One that leads to both, or asks for neither, has no row.
"""
import ast
import pathlib
import re
import sys

import sglang.srt.models

FOLDER = pathlib.Path(sglang.srt.models.__file__ or next(iter(sglang.srt.models.__path__)))
FOLDER = FOLDER.parent if FOLDER.suffix else FOLDER
PACKAGE = "sglang.srt.models."


def read():
    """{(module, class): its text}, {(module, name): (module, class) that the name is}, {class that can be served}"""
    texts, names, served = {}, {}, {}
    for file in sorted(FOLDER.rglob("*.py")):
        module = ".".join(file.relative_to(FOLDER).with_suffix("").parts)
        source = file.read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                texts[module, node.name] = ast.get_source_segment(source, node)
                names[module, node.name] = module, node.name
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                for alias in node.names:
                    names[module, alias.asname or alias.name] = node.module.removeprefix(PACKAGE), alias.name
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EntryClass":
                for name in re.findall(r"\w+", ast.get_source_segment(source, node.value)):
                    served[name] = module
    return texts, names, served


def asks(text):
    """What an attention class asks the context for."""
    return {"attention" if word.startswith("attn") else "all" for word in re.findall(r"\b(attn_tp_size|get_parallel\(\)\.tp_size)\b", text)}


def reached(start, texts, names):
    seen, left = set(), [start]
    while left:
        here = left.pop()
        if here in seen or here not in texts:
            continue
        seen.add(here)
        left += [names[here[0], word] for word in set(re.findall(r"\w+", texts[here])) if (here[0], word) in names]
    return seen


def main():
    texts, names, served = read()
    lines = []
    for architecture, module in sorted(served.items()):
        makes = [texts[c] for c in reached((module, architecture), texts, names) if "RadixAttention(" in texts[c]]
        ranks = {rank for text in makes for rank in asks(text) or {"neither"}}
        if len(ranks) == 1 and ranks != {"neither"} and not architecture.startswith("Transformers"):  # no model's own
            lines.append(f"{architecture} {ranks.pop()}\n")
    pathlib.Path(sys.argv[1]).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
