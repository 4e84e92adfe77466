#!/usr/bin/env python3
"""Write messages.txt.

  make_messages.py all FOLDER FILE         of all releases; FOLDER holds one folder for each with the installed package in
                                           it (FOLDER/0.5.23/sglang)
  make_messages.py release RELEASE FILE    adds a newer one, which the interpreter that runs this has (`./dev release`):
                                           lines of its messages reach to it, and those that have none get one. It is
                                           left out where FILE knows it, as a post-release's own release is

A line of FILE is a place where SGLang refuses or warns while it reads arguments and models, or starts its worker:

  marker|kind|function|file|first-last     without a last where the newest release has it

The marker is a few words, in lower case, that stand in this message and in as few others as can be, those of the whole
server counted; kind is the exception, or "warning"; several functions of one message have a line each. `explain "TEXT"`
looks for markers in what an operator pasted. A line that ends with |named has a marker that other places say as well:
it tells beside its function in a traceback alone; one that ends with other words tells beside these, too, of an option
or a field that those places do not name. One that ends with |raised has a marker that lines of a healthy server's log
have, too: it tells beside its exception.
"""
import ast
import importlib.util
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


def all_sites(packages):
    """(release, file, kind, function, parts, options) of every message of the server, a file that releases share read once."""
    read = {}
    for release, package in packages.items():
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

    def __init__(self, packages):
        self.sites, self.things, elsewhere = {}, {}, {}
        for release, name, kind, function, parts, options in all_sites(packages):
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


    def rows(self, known):
        """((marker, kind, function, file, beside), first, last) of each message; `known` are such rows with their spans: the
        markers that a message had last are kept."""
        markers = {}
        for (marker, kind, *place, beside), spans in known.items():
            markers.setdefault((kind, *place), []).append((spans[-1][1], marker, beside))
        for site, functions in self.sites.items():
            (parts, kind), own = site, None
            for place, found in functions.items():
                held = set(windows(parts))
                kept = [m for m in markers.get((kind, *place), ()) if m[1] in held]
                if not kept and own is None:
                    own = self.marker(site)
                latest = max(kept)[0] if kept else None
                patches = [number(release)[2] for release in found]
                for marker, beside in [m[1:] for m in kept if m[0] == latest] or [own]:
                    if marker:
                        yield (marker, kind, *place, beside), min(patches), max(patches)


def read(file):
    """{row: [(first, last)]}: a message that changed may have its marker again, with a span of its own."""
    out = {}
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    newest = re.search(r" to 0\.5\.(\d+) ", head).group(1)
    for line in lines:
        marker, kind, function, name, span, *beside = line.split("|", 5)
        first, last = span.split("-")
        out.setdefault((marker, kind, function, name, "|" + beside[0] if beside else ""), []).append((int(first), int(last or newest)))
    return {row: sorted(spans, key=lambda span: span[1]) for row, spans in out.items()}


def write(rows, file):
    spans = [span for of in rows.values() for span in of]
    oldest, newest = min(first for first, _ in spans), max(last for _, last in spans)
    head = [f"# Places where SGLang 0.5.{oldest} to 0.5.{newest} refuses or warns, by a few words of the message: "
            "marker|kind|function|file|releases 0.5.N."]
    lines = {"|".join(row[:4]) + f"|{first}-{'' if last == newest else last}{row[4]}" for row, of in rows.items() for first, last in of}
    file.write_text("\n".join(head + sorted(lines)) + "\n", encoding="utf-8")


def all_releases(folder, file):
    releases = sorted((p.name for p in folder.iterdir() if (p / "sglang").is_dir()), key=number)
    rows = {}
    for row, first, last in Messages({release: folder / release / "sglang" for release in releases}).rows({}):
        rows.setdefault(row, []).append((first, last))
    write(rows, file)


def add(release, package, file):
    rows = read(file)
    if number(release)[2] <= max(spans[-1][1] for spans in rows.values()):
        return
    for row, new, _ in list(Messages({release: package}).rows(rows)):
        spans = rows.setdefault(row, [(new, new)])
        spans[-1] = (spans[-1][0], new)
    write(rows, file)


def main():
    command, of, file = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if command == "all":
        all_releases(pathlib.Path(of), file)
    else:
        add(of, pathlib.Path(importlib.util.find_spec("sglang").origin).parent, file)


if __name__ == "__main__":
    main()
