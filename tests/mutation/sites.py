"""Where a mistake of one release, one step or one element can hide, found in the text of the sources.

A site is a place in the text and what to write there so that the program can be told at its start to be wrong there
(tests/mutation/mutation.h). Found are, in every source,

  v0_5(20), since(20), since(kNewer), release >= kNewer        a release: one earlier, one later
  v0_5(13), since(13)                                          and as of the post-release before it, 0.5.12.post1
  v0_5(12, 1)                                                  a post-release: one earlier, one later

in resolution and rules

  x > 2, constexpr int kMax = 4096                             a threshold: one less, one more
  Limits{Field::tp_size, 1, kAny}                              and one of a field, in a table
  day(2026, 5, 4)                                              a kernel package's day: one earlier, one later
  in_release("0.5.20")                                         the release that a remedy names: one earlier, one later

and there and in what is known of models

  is(Field::device, "xpu"), name == "mla"                      a word: it is another
  starts_with("fp8"), has_architecture("Qwen3MoeForCausalLM")  and one that begins, ends or names something

  {64, 128}, {"triton", "fa3"}                                 a set: each element leaves it, another one comes in
  {Field::tp_size, Field::pp_size}                             each element leaves it
  {"BeamForCausalLM", Trait::kPooling, v0_5(13)},              a table's row: it leaves

and there, in arguments, intake and fixes

  case Converter::kInt:                                        a case: what has another label is done in its place

The examples of a rule are its tests, and left alone.
"""
import collections
import dataclasses
import pathlib
import re
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORTED = (ROOT / "configs/releases.txt").read_text(encoding="utf-8").split()
RELEASES = {int(name.split(".")[2]) for name in SUPPORTED}
POSTS = {int(name.split(".")[2]) for name in SUPPORTED if name.endswith(".post1")}  # 12: there is a 0.5.12.post1
AS_OF_POST = -2  # a shift to the post-release before, as mutation.h reads it
# What SGLang asks of a model by name; the readers of files beside it have tests of their own.
MODEL_FACTS = ("src/facts/architectures", "src/facts/model_", "src/facts/kinds", "src/facts/stored_as", "src/launch/", "src/plan/")
CASES = ("src/resolve/", "src/rules/", "src/facts/", "src/launch/", "src/plan/", "src/args/", "src/intake/", "src/fix/")
STRING = r'"(?:[^"\\\n]|\\.)*"'


@dataclasses.dataclass(frozen=True)
class Mutant:
    site: int
    path: str
    line: int
    kind: str  # release, threshold, element, added, word, case
    shift: int
    text: str  # what stands there
    releases: tuple = ()  # the only ones that can differ; empty: any

    def __str__(self):
        if self.shift == AS_OF_POST:
            return f"{self.path}:{self.line}: {self.kind}: {self.text} as of {self.releases[0]}"
        what = {"release": f"{self.text} {self.shift:+}", "threshold": f"{self.text} {self.shift:+}",
                "element": f"without {self.text}", "added": f"with {self.text}", "word": f"not {self.text}",
                "case": self.text}[self.kind]
        return f"{self.path}:{self.line}: {self.kind}: {what}"


def sources():
    return sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".cpp", ".h") and p.name != "main.cpp")


def blank(text, patterns):
    """The same length, with what the patterns match as spaces; ends of lines stay."""
    for pattern in patterns:
        text = re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    return text


def without_examples(text):
    for start in reversed([m.start() for m in re.finditer(r"\.(fires_on|quiet_on|refs) =\s*\{", text)]):
        depth, at = 0, text.index("{", start)
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:at]) + text[at:]
    return text


def code_of(text):
    """(without comments and directives, and without strings too)"""
    held = []

    def keep(match):  # a // inside a string is no comment
        if match.group().startswith('"'):
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    code = re.sub(rf"{STRING}|//[^\n]*|/\*.*?\*/|^\s*#(?:[^\n]*\\\n)*[^\n]*", keep, text, flags=re.S | re.M)
    bare = re.sub(STRING, lambda m: '"' + " " * (len(m.group()) - 2) + '"', code)
    examples = without_examples(bare)
    code = "".join(c if e != " " or b == " " else " " for c, b, e in zip(code, bare, examples))
    return code, examples


def values_by_field(texts):
    """What a field is compared with anywhere: {field: Counter of literals}."""
    values = collections.defaultdict(collections.Counter)
    for text in texts:
        for field, listed in re.findall(rf"Field::(\w+), \{{?((?:{STRING}(?:,\s*)?)+)", text):
            values[field].update(re.findall(STRING, listed))
    return values


def ends_a_range(code, start):
    return re.search(r"(\blast = |v0_5\(\d+\), )$", code[:start]) is not None


def affected(code, start, number, shift):
    """Releases in which `number + shift` answers otherwise."""
    first = number if shift > 0 else number - 1
    # A range holds its end or not, as its table says; one release alone is no longer meant, and its neighbour is.
    one_alone = re.search(r"[=!]= $", code[:start]) is not None
    releases = (first, first + 1) if one_alone or ends_a_range(code, start) else (first,)
    return tuple(r for r in releases if r in RELEASES)


def ways_of(code, start, number):
    """[(shift, the releases that can differ)]: one earlier, one later, and the post-release before."""
    ways = [(s, r) for s in (-1, 1) if (r := affected(code, start, number, s))]
    if number - 1 in POSTS:
        ways.append((AS_OF_POST, (f"0.5.{number - 1}.post1", *([number] if ends_a_range(code, start) else []))))
    return ways


def release_sites(bare, release_constants):
    for m in re.finditer(r"\bv0_5\((\d+)\)", bare):
        number = int(m.group(1))
        if number not in (0, 9999):
            how = "numbers" if number - 1 in POSTS else "number"
            yield m.start(1), m.end(1), how, "release", m.group(), ways_of(bare, m.start(), number)
    for m in re.finditer(r"(?:\w+(?:\(\))?(?:\.|->))*\b((since|before)\((\d+)\))", bare):
        number, how = int(m.group(3)), "number"
        start, end = m.span(3)
        if number - 1 in POSTS:  # its argument is an int: the comparison is written out
            start, end, how = *m.span(), m.group(2)
        yield start, end, how, "release", m.group(1), ways_of(bare, m.start(1), number)
    for m in re.finditer(r"\bv0_5\((\d+), (\d+)\)", bare):
        yield m.start(2), m.end(2), "number", "release", m.group(), [(s, (int(m.group(1)),)) for s in (-1, 1)]
    names = "|".join(release_constants) or "(?!)"
    for m in re.finditer(rf"\b(?:since|before)\(({names})\)|(?:>=|<=|<|>) ({names})\b", bare):
        group = 1 if m.group(1) else 2
        number = release_constants[m.group(group)]
        yield m.start(group), m.end(group), "release", "release", m.group(), ways_of("", 0, number)


def threshold_sites(bare):
    for m in re.finditer(r" (?:<=|>=|<|>|==|!=) (-?\d+(?:\.\d+)?)\b(?![\w.])", bare):
        yield m.start(1), m.end(1), "number", "threshold", m.group().strip(), [(-1, ()), (1, ())]
    for m in re.finditer(r"constexpr (?:int|double|std::int64_t|std::size_t) k\w+ = (-?\d+(?:\.\d+)?);", bare):
        yield m.start(1), m.end(1), "number", "threshold", m.group().removeprefix("constexpr "), [(-1, ()), (1, ())]
    for m in re.finditer(r"\b[A-Z]\w+\{Field::(\w+, (-?\d+)\b)", bare):
        yield m.start(2), m.end(2), "number", "threshold", m.group(1), [(-1, ()), (1, ())]


def rule_sites(code, bare):
    for m in re.finditer(r"\bday\(\d+, \d+, (\d+)\)", bare):
        yield m.start(1), m.end(1), "number", "threshold", m.group(), [(-1, ()), (1, ())]
    for m in re.finditer(r'\b(?:in|with)_release\(("0\.5\.(\d+)")\)', code):
        yield m.start(1), m.end(1), "named", "release", m.group(), [(-1, ()), (1, ())]


def word_sites(code):
    asked = rf"[=!]= ({STRING})(?!\s*\")"
    called = rf"\b(?:is|is_text|(?:starts|ends)_with|has_(?:architecture|quantization)|\w*_on)\((?:[\w.:\[\]]+, )?({STRING})\)"
    for m in re.finditer(rf"{asked}|{called}", code):
        group = 1 if m.group(1) else 2
        if len(m.group(group)) > 2:
            yield m.start(group), m.end(group), "leaves", "word", m.group(group), [(1, ())]


def row_sites(code):
    """Rows of tables whose key is a text: {"key", something else…}, at the start of a line."""
    for m in re.finditer(rf"^ +\{{({STRING})(?:, (?!\s*\")[^\n]*)?\}},$", code, flags=re.M):
        yield m.start(1), m.end(1), "leaves", "element", m.group(1), [(1, ())]


def set_sites(code, bare, values):
    lists = rf"\{{\s*({STRING}(?:,\s*{STRING})*),?\s*\}}"
    for m in re.finditer(lists, code):
        elements = list(re.finditer(STRING, m.group(1)))
        call = re.search(r"(\w+)\((?:[^(){};]*?Field::(\w+), )?$", code[: m.start()])
        if len(elements) < 2 and not (call and call.group(1) in ("one_of", "contains")):
            continue
        known = {e.group() for e in elements}
        for e in elements:
            if " " in e.group():  # prose
                continue
            yield (m.start(1) + e.start(), m.start(1) + e.end(), "leaves", "element", e.group(), [(1, ())])
        if call and call.group(2):
            others = [v for v, _ in values[call.group(2)].most_common() if v not in known]
            if others:
                yield (m.end(1), m.end(1), f", {elements[-1].group()}, {others[0]}", "added", others[0], [(1, ())])
    for m in re.finditer(r"\{\s*(Field::\w+(?:,\s*Field::\w+)+),?\s*\}", bare):
        fields = list(re.finditer(r"Field::\w+", m.group(1)))
        for i, f in enumerate(fields):
            yield m.start(1) + f.start(), m.start(1) + f.end(), f", {fields[i - 1].group()}", "element", f.group(), [(1, ())]
    for m in re.finditer(r"(?:\(|[^}], )(\{(-?\d+(?:, -?\d+)+)\})", bare):
        numbers = list(re.finditer(r"-?\d+", m.group(2)))
        if len({n.group() for n in numbers}) < len(numbers):  # no set: what stands in it twice counts twice
            continue
        for n in numbers:
            yield m.start(2) + n.start(), m.start(2) + n.end(), "doubles", "element", n.group(), [(1, ())]
        last = numbers[-1].group()
        yield m.end(2), m.end(2), f", {last}, {int(last) * 2}", "added", str(int(last) * 2), [(1, ())]


def case_sites(bare, code):
    """A `switch` is one place; each label of it does in turn what the labels after it do."""
    for m in re.finditer(r"\bswitch \(([^;{}=]+)\) \{", bare):
        depth, at = 1, m.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(bare[at], 0)
            at += 1
        groups = [re.findall(r"case ([^;{}\n]+?)(?<!:):(?!:)", g) for g in re.findall(r"(?:\bcase [^;{}\n]+?(?<!:):(?!:)\s*)+", code[m.end() : at])]
        pairs = [(label, other[0]) for group, other in zip(groups, groups[1:] + groups[:1]) for label in group]
        if len(groups) > 1:
            yield m.start(1), m.end(1), "labels", "case", pairs, [(i, ()) for i in range(len(pairs))]


def instrument(path, values):
    """The mutants of one source, and its text with every site in place (None where it has none)."""
    text = path.read_text(encoding="utf-8")
    name = str(path.relative_to(ROOT))
    code, bare = code_of(text)
    constants = {n: int(v) for n, v in re.findall(r"constexpr Release (k\w+) = v0_5\((\d+)\);", bare)}
    found = list(release_sites(bare, constants))
    if name.startswith(("src/resolve/", "src/rules/")) and path.suffix == ".cpp":
        found += [*threshold_sites(bare), *rule_sites(code, bare)]
    if name.startswith(("src/resolve/", "src/rules/", *MODEL_FACTS)) and path.suffix == ".cpp":
        found += [*set_sites(code, bare, values), *row_sites(code), *word_sites(code)]
    if name.startswith(CASES) and path.suffix == ".cpp":
        found += case_sites(bare, code)
    found = [f for f in sorted({f[:2]: f for f in reversed(found)}.values(), key=lambda f: f[:2]) if f[5]]
    mutants, edits = [], []
    for ordinal, (start, end, how, kind, shown, ways) in enumerate(found):
        site = (zlib.crc32(name.encode()) << 10) + ordinal
        was = text[start:end]
        if how in ("number", "release"):
            new = f"mutation::{how}({site}, {was})"
        elif how == "numbers":
            new = f"mutation::number({site}, {was}), mutation::post({site})"
        elif how in ("since", "before"):
            receiver, number = re.fullmatch(rf"(.*){how}\((\d+)\)", was).groups()
            release = f"v0_5(mutation::number({site}, {number}), mutation::post({site}))"
            new = f"({receiver}release() {'>=' if how == 'since' else '<'} {release})"
        elif how == "named":
            number = int(re.search(r"(\d+)\"", was).group(1))
            new = f'mutation::named({site}, {was}, "0.5.{number - 1}", "0.5.{number + 1}")'
        elif how == "labels":
            labels, others = zip(*shown)
            new = f"mutation::label({site}, {was}, {{{', '.join(labels)}}}, {{{', '.join(others)}}})"
        elif how == "leaves":
            new = f'mutation::element({site}, {was}, "\\001")'
        elif how.startswith(", Field::") and start != end:
            new = f"mutation::element({site}, {was}, {how.removeprefix(', ')})"
        elif how == "doubles":
            new = f"mutation::element({site}, {was}, {was} * 2 + 1)"
        else:  # unaltered, it is the element before once more, which leaves its set here too
            last, other = how.removeprefix(", ").rsplit(", ", 1)
            before = edits[-1][2] if edits and edits[-1][1] == start else last
            new = f", mutation::element({site}, {before}, {other})"
        edits.append((start, end, new))
        line = text.count("\n", 0, start) + 1
        for shift, releases in ways:
            mutants.append(Mutant(site, name, line, kind, shift, " as ".join(shown[shift]) if kind == "case" else shown, releases))
    if not edits:
        return [], None
    return mutants, rewrite(text, bare, edits, name)


def constants(bare):
    """[(start, end, name, what it is when it is made at the start of the program)] of what the compiler makes."""
    for m in re.finditer(r"\bconstexpr (?!auto k)(?=struct \{|[\w:<>, *]+?[ &*](\w+)(?:\[[^\]]*\])? ?(?:=|\{))", bare):
        depth, at = 0, m.end()
        while at < len(bare) and (depth or bare[at] != ";"):
            depth += {"{": 1, "}": -1, "(": 1, ")": -1}.get(bare[at], 0)
            at += 1
        yield m.start(), at, m.group(1), "const"
    for m in re.finditer(r"\bconstexpr (?=[\w:<>,& ]+? (\w+)\([^;{]*\) \{)", bare):
        yield m.start(), bare.find("\n}", m.end()), m.group(1), "inline"


def rewrite(text, bare, edits, name):
    """A table with a site in it is made at the start of the program, not by the compiler, and so is what names one."""
    starts = [e[0] for e in edits]
    left, names = list(constants(bare)), set()
    while True:
        made = [c for c in left if any(c[0] < s < c[1] for s in starts) or names & set(re.findall(r"\w+", bare[c[0] : c[1]]))]
        if not made:
            break
        edits += [(start, start + len("constexpr"), how) for start, _, _, how in made]
        names |= {c[2] for c in made if c[2]}
        left = [c for c in left if c not in made]
    # What is asserted of a table at compile time holds for the sound program; here the table is none of the compiler's.
    edits += [(m.start(), m.end(), "\n" * m.group().count("\n")) for m in re.finditer(r"^ *static_assert\([^;]*;", bare, flags=re.M)]
    out, at = [f'#include "tests/mutation/mutation.h"\n#line 1 "{name}"\n'], 0
    for start, end, new in sorted(edits):
        out += [text[at:start], new]
        at = end
    out.append(text[at:])
    return "".join(out).replace("mutation::", "::preflight::mutation::")


def write(folder, wanted=()):
    """Instrumented sources under `folder`, each touched only when it changed; their paths there. Those wanted, or all: a
    header acts in whatever includes it."""
    _, texts = all_sites()
    if wanted and all(name.endswith(".cpp") for name in wanted):
        texts = {name: text for name, text in texts.items() if name in wanted}
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in list(folder.rglob("*")):
        if path.is_file() and str(path.relative_to(folder)) not in texts:
            path.unlink()
    return sorted(texts)


def all_sites():
    """[Mutant], {relative path: instrumented text}"""
    paths = sources()
    values = values_by_field(p.read_text(encoding="utf-8") for p in paths if "/resolve/" in str(p))
    mutants, texts = [], {}
    for path in paths:
        own, text = instrument(path, values)
        mutants += own
        if text is not None:
            texts[str(path.relative_to(ROOT))] = text
    places = collections.Counter({(m.site, m.path, m.line, m.kind): m.site for m in mutants}.values())
    assert max(places.values(), default=1) == 1, "two sites have one number"
    return mutants, texts


if __name__ == "__main__":  # what the build calls: FOLDER [SOURCE...]
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(";".join(n for n in write(pathlib.Path(sys.argv[1]), sys.argv[2:]) if n.endswith(".cpp")), end="")
