#!/usr/bin/env python3
"""Turn configs/sglang/{options,defaults}.json into C++ tables at build time.

  generate_tables.py CONFIGS_DIR OUT_DIR

Writes OUT_DIR/generated/fields.inc         one PREFLIGHT_FIELD(name) per ServerArgs field of any release, sorted
       OUT_DIR/generated/tables.cpp         releases, fields' defaults per release, option tables per release
       OUT_DIR/generated/option_history.txt options that not every release has, with the first and the last that has it

options.json is the argparse table of the real releases, defaults.json the value of every field when nothing is given;
configs/ranges.py says how a table holds all releases. They are read by src/fields/fields.cpp, src/fields/flag_table.h and
src/rules/option_history.cpp.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import embed as embed_files  # noqa: E402
import ranges  # noqa: E402

# Fields that every launch chooses anew or that parsing alone sets; they have no recorded default.
VOLATILE = ["model_path", "random_seed", "nccl_port"]


# argparse's action classes, converters and nargs, as src/fields/flag_table.h calls them.
ACTIONS = {"StoreAction": "kStore", "StoreTrueAction": "kStoreTrue", "BooleanOptionalAction": "kBooleanOptional",
           "LoRAPathAction": "kLoraPaths", "DeprecatedAction": "kDeprecated", "RetiredAction": "kRetired",
           "DeprecatedStoreTrueAction": "kDeprecatedStoreTrue", "DeprecatedStoreConstAction": "kDeprecatedStoreConst",
           "DeprecatedAliasStoreAction": "kDeprecatedAliasStore"}
CONVERTERS = {"": "kText", "str": "kText", "int": "kInt", "float": "kFloat", "human_readable_int": "kHumanReadableInt",
              "loads": "kJson", "json_list_type": "kJsonList", "nullable_str": "kNullableText",
              "parse_cuda_graph_backend_arg": "kCudaGraphBackend", "parse_cuda_graph_config_arg": "kCudaGraphConfig"}
ARITIES = {"": "kOne", "0": "kNone", "?": "kOptional", "*": "kAny", "+": "kSome"}
HELP = ["-h", "--help"]  # argparse adds them itself


def known(word, words, option):
    return words.get(word) or sys.exit(f"{option}: src/args does not know {word} of argparse yet")


class Texts:
    """All texts of the tables, one behind the other, and the lists of them; a row names both by their places."""

    def __init__(self):
        self.places, self.bytes, self.lists, self.entries = {}, bytearray(), {}, []

    def text(self, text):
        if text not in self.places:
            self.places[text] = len(self.bytes)
            self.bytes += text.encode()
        return "{%d, %d}" % (self.places[text], len(text.encode()))

    def json(self, value):
        return self.text(json.dumps(value, ensure_ascii=True, separators=(",", ":")))

    def list(self, texts):
        key = tuple(texts)
        if key not in self.lists:
            self.lists[key] = len(self.entries)
            self.entries += [self.text(t) for t in texts]
        return "{%d, %d}" % (self.lists[key], len(key))

    def definitions(self):
        yield f"const char kTableTexts[] =\n    {embed_files.literal(bytes(self.bytes))};"
        yield "const TableText kTableLists[] = {"
        yield from (f"    {entry}," for entry in self.entries)
        yield "};"


def flag_row(row, texts):
    choices, replaced, nargs = row.get("choices"), row.get("replaced_by"), row.get("nargs")
    name = row["flags"][0]
    return ("    {.names = %s, .dest = Field::%s, .action = ActionKind::%s, .converter = Converter::%s, .arity = Arity::%s, "
            ".constant = %s, .has_choices = %s, .choices = %s, .required = %s, .replaced_by = %s}," % (
                texts.list(row["flags"]), row["dest"], known(row["action"], ACTIONS, name),
                known(row.get("type") or "", CONVERTERS, name), known("" if nargs is None else str(nargs), ARITIES, name),
                texts.json(row.get("const")), "true" if choices is not None else "false", texts.list(choices or []),
                "true" if row.get("required") else "false",
                texts.text(replaced if isinstance(replaced, str) else "")))


def option_names(table, texts):
    """Sorted, as look-ups want them: each with its place behind that of -h, --help."""
    named = [(name, 0) for name in HELP] + [(n, i + 1) for i, row in enumerate(table) for n in row["flags"]]
    return [f"{{{texts.text(name)}, {place}}}" for name, place in sorted(named)]


def history(flags):
    """Lines of option_history.txt."""
    releases, having = list(flags), {}
    for release, table in flags.items():
        for row in table.values():
            for name in row["flags"]:
                having.setdefault(name, []).append(release)
    lines = [f"# Options that not every release from {releases[0]} to {releases[-1]} has: option, first, last."]
    for name, found in sorted(having.items()):
        span = releases[releases.index(found[0]) : releases.index(found[-1]) + 1]
        if found != span:
            sys.exit(f"{name} went and came back; a first and a last release cannot say that")
        if found != releases:
            lines.append(f"{name} {found[0]} {found[-1]}")
    return "\n".join(lines) + "\n"


def main():
    configs, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "generated"
    out.mkdir(parents=True, exist_ok=True)
    releases = ranges.releases()
    flags, defaults = ranges.read(configs / "options.json"), ranges.read(configs / "defaults.json")
    fields = sorted({f for d in defaults.values() for f in d} | {r["dest"] for t in flags.values() for r in t.values()} | set(VOLATILE))
    write(out / "fields.inc", "".join(f"PREFLIGHT_FIELD({f})\n" for f in fields))
    write(out / "option_history.txt", history(flags))

    lines = ["// Generated by configs/sglang/generate_tables.py. Do not edit.",
             '#include "src/fields/flag_table.h"', '#include "src/fields/field_table.h"', "",
             "namespace preflight {", "namespace args {", "namespace {", ""]
    texts = Texts()
    rows, entries = {}, []  # an option's text: its number; what is written there
    values = {}  # a default: its number
    arrays = {}  # what stands in it: the array's name; a post-release shares those of its release

    def array(name, items, of="std::uint16_t"):
        key = tuple(items)
        if key not in arrays:
            arrays[key] = name
            lines.extend([f"constexpr {of} {name}[] = {{{', '.join(map(str, items))}}};", ""])
        return arrays[key]

    tables = []
    for r in releases:
        n = r.replace(".", "_")
        has = set(defaults[r]) | set(VOLATILE)
        told = [f"    {{Field::{f}, {texts.json(defaults[r].get(f))}}}," for f in fields if f in has]
        own = array(f"kDefaults_{n}", [values.setdefault(t, len(values)) for t in told])
        numbers = []
        for row in flags[r].values():
            if (key := json.dumps(row)) not in rows:
                rows[key] = len(rows)
                entries.append(flag_row(row, texts))
            numbers.append(rows[key])
        options = array(f"kFlags_{n}", numbers)
        names = array(f"kNames_{n}", option_names(flags[r].values(), texts), "OptionName")
        tables.append(f"    {{Release{{{', '.join(map(str, ranges.key(r)))}}}, {own}, {options}, {names}}},")
    lines += ["constexpr FlagRow kRows[] = {", *entries, "};", ""]
    lines += ["constexpr resolve::FieldDefault kValues[] = {", *values, "};", ""]
    lines.append("constexpr resolve::ReleaseTable kReleases[] = {")
    named = texts.list(fields), texts.list(HELP)
    lines += [*tables, "};", "", "}  // namespace", "", "const FlagRow& flag_row(std::uint16_t number) { return kRows[number]; }",
              f"TableTexts help_names() {{ return {named[1]}; }}", "", "}  // namespace args", "",
              "std::span<const resolve::ReleaseTable> resolve::release_tables() { return args::kReleases; }",
              "std::span<const resolve::FieldDefault> resolve::default_rows() { return args::kValues; }",
              f"TableTexts resolve::field_names() {{ return {named[0]}; }}",
              "", *texts.definitions(), "", "}  // namespace preflight", ""]
    write(out / "tables.cpp", "\n".join(lines))


def write(path, body):
    if not path.exists() or path.read_text() != body:  # keep the time stamp when nothing changed
        path.write_text(body)


if __name__ == "__main__":
    main()
