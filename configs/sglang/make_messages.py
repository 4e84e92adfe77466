#!/usr/bin/env python3
"""Write messages.txt: make_messages.py FOLDER OUT.txt

FOLDER holds one folder per SGLang release with the installed package in it (FOLDER/0.5.23/sglang). A line of the result
is a place where SGLang refuses or warns while it reads arguments and models, or starts its worker:

  marker|kind|function|file|first-last

The marker is a few words, in lower case, that stand in this message and in as few others as can be, those of the whole
server counted; kind is the exception, or "warning"; several functions of one message have a line each. `explain "TEXT"`
looks for markers in what an operator pasted. A line that ends with |named has a marker that other places say as well:
it tells beside its function in a traceback alone; one that ends with other words tells beside these, too, of an option
or a field that those places do not name. One that ends with |raised has a marker that lines of a healthy server's log
have, too: it tells beside its exception.
Regenerate it when a release is added.
"""
import ast
import pathlib
import re
import sys

PLACES = ("srt/server_args.py", "srt/server_args_config_parser.py", "srt/utils/server_args_config_parser.py",
          "srt/arg_groups/**/*.py", "srt/configs/model_config.py", "srt/configs/load_config.py",
          "srt/utils/hf_transformers/*.py", "srt/utils/hf_transformers_utils.py", "srt/speculative/spec_info.py",
          "srt/dllm/**/*.py", "srt/connector/__init__.py", "srt/layers/attention/xpu_backend.py",
          "srt/layers/attention/attention_registry.py", "srt/platforms/*.py", "srt/kernel_plugins/**/*.py",
          "srt/mem_cache/kv_cache_configurator.py", "srt/model_executor/pool_configurator.py",
          "srt/model_executor/model_runner.py", "srt/model_executor/cuda_graph_config.py", "srt/lora/lora_registry.py",
          "srt/managers/scheduler.py", "srt/parser/*.py", "srt/elastic_ep/*.py", "srt/utils/runai_utils.py")
WARNED = ("srt/server_args.py", "srt/arg_groups/", "srt/configs/model_config.py")
LOGGERS = ("debug", "info", "warning", "warning_once", "warn", "error", "critical", "exception")
LONGEST = 4


def words(text):
    return re.findall(r"[a-z0-9_]+", text.lower())


def pieces(node):
    """The texts of a message between what is filled in."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        out, run = [], ""
        for v in node.values:
            if isinstance(v, ast.Constant):
                run += str(v.value)
            else:
                out.append(run + " ")  # a word cut by a value is no word
                run = " "
                out[-1] = re.sub(r"\S+ $", "", out[-1]) if not out[-1].endswith("  ") else out[-1]
        return out + [run]
    if isinstance(node, ast.BinOp):
        return pieces(node.left) + pieces(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return [p for t in pieces(node.func.value) for p in re.split(r"\S*\{[^}]*\}\S*", t)]
    return []


class Sites(ast.NodeVisitor):
    def __init__(self, warn):
        self.function, self.found, self.warn = "<module>", [], warn

    def visit_FunctionDef(self, node):
        before, self.function = self.function, node.name
        self.generic_visit(node)
        self.function = before

    visit_AsyncFunctionDef = visit_FunctionDef

    def add(self, kind, node):
        nodes = node if isinstance(node, list) else [node]
        texts = [p for a in nodes for p in pieces(a)]
        said = " ".join(n.value for a in nodes for n in ast.walk(a) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        options = frozenset(re.findall(r"--[a-z0-9][a-z0-9-]*[a-z0-9]", said))
        self.found.append((kind, self.function, tuple(tuple(words(t)) for t in texts if len(words(t)) > 1), options))

    def visit_Raise(self, node):
        if isinstance(node.exc, ast.Call):
            name = getattr(node.exc.func, "id", getattr(node.exc.func, "attr", ""))
            self.add(name, node.exc.args[:1])
        self.generic_visit(node)

    def visit_Assert(self, node):
        if node.msg is not None:
            self.add("AssertionError", node.msg)
        self.generic_visit(node)

    def visit_Call(self, node):
        name = getattr(node.func, "attr", "")
        if self.warn and name in ("warning", "warning_once", "warn", "error") and node.args:
            self.add("warning", node.args[:1])
        elif name in LOGGERS or "log" in getattr(node.func, "id", ""):
            self.add("log", node.args[:2])  # some take the logger first
        if name == "error" and getattr(getattr(node.func, "value", None), "id", "") == "parser" and node.args:
            self.add("usage", node.args[:1])
        self.generic_visit(node)


def all_sites(folder, releases):
    """(release, file, kind, function, parts, options) of every message of the server, a file that releases share read once."""
    read = {}
    for release in releases:
        package = folder / release / "sglang"
        places = {file for place in PLACES for file in package.glob(place)}
        for file in sorted(package.glob("srt/**/*.py")):
            text, name = file.read_text(encoding="utf-8-sig"), str(file.relative_to(package))
            key = (name, text)
            if key not in read:
                visitor = Sites(name.startswith(WARNED))
                visitor.visit(ast.parse(text))
                read[key] = [s for s in visitor.found if s[2]]
            yield from ((release, name if file in places else "", *site) for site in read[key])


def windows(parts):
    for part in parts:
        for size in range(2, LONGEST + 1):
            for at in range(len(part) - size + 1):
                yield " ".join(part[at:at + size])


def number(release):
    return [int(n) for n in re.findall(r"\d+", release)[:3]]


class Messages:
    """Messages of the places above and of the rest of the server, and which of them have a few words."""

    def __init__(self, folder, releases):
        self.sites, self.things, elsewhere = {}, {}, {}
        for release, name, kind, function, parts, options in all_sites(folder, releases):
            fields = {word for part in parts for word in part if "_" in word}
            self.things.setdefault((parts, kind), set()).update(fields | {" ".join(words(o)) for o in options})
            if name and kind != "log":
                self.sites.setdefault((parts, kind), {}).setdefault((function, name), set()).add(release)
            else:
                elsewhere.setdefault((parts, kind), set()).add(function.lstrip("_"))
        self.having, self.others = {}, {}
        for (parts, kind), functions in elsewhere.items():
            for window in set(windows(parts)):
                self.others.setdefault((window, kind), set()).update((f, parts) for f in functions)
        for site in self.sites:
            for window in set(windows(site[0])):
                self.having.setdefault(window, set()).add(site)

    def elsewhere(self, site, window, kinds):
        """Other messages of the rest of the server, of other functions, that have these words, too: (parts, kind)."""
        own = {f.lstrip("_") for f, _ in self.sites[site]}
        return [(p, k) for k in kinds for f, p in self.others.get((window, k), ()) if f not in own and p != site[0]]

    def mistaken(self, site, window):
        """What says these words and cannot be told from this message, and what can by the exception that it names."""
        if site[1] in ("warning", "usage"):
            return self.elsewhere(site, window, (site[1], "log")), []
        return self.elsewhere(site, window, (site[1],)), self.elsewhere(site, window, ("log",))

    def marker(self, site):
        """The words that the fewest others have, and what beside them tells; empty: the message has none."""
        def rank(window):
            size, having = window.count(" "), self.having[window]
            same = {(s[1], f.lstrip("_")) for s in having for f, _ in self.sites[s]}
            others, logged = self.mistaken(site, window)
            return (len(same) + bool(others), len(same), bool(logged), len(having), abs(size - 2), -len(window))

        best = min(set(windows(site[0])), key=lambda w: (rank(w), w), default="")
        others, logged = self.mistaken(site, best)
        if not others:
            return best, "|raised" if logged else ""
        telling = self.things[site].difference(*(self.things[other] for other in others + logged))
        return best, f"|{min(telling, default='named')}"


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    releases = sorted((p.name for p in folder.iterdir() if (p / "sglang").is_dir()), key=number)
    messages, lines = Messages(folder, releases), set()
    for site, functions in messages.sites.items():
        marker, beside = messages.marker(site)
        for (function, name), found in functions.items() if marker else ():
            first, last = min(found, key=number), max(found, key=number)
            span = f"{first.split('.')[2]}-{last.split('.')[2]}"
            lines.add(f"{marker}|{site[1]}|{function}|{name}|{span}{beside}")
    head = ["# Places where SGLang refuses or warns, by a few words of the message: marker|kind|function|file|releases 0.5.N."]
    out.write_text("\n".join(head + sorted(lines)) + "\n")


if __name__ == "__main__":
    main()
