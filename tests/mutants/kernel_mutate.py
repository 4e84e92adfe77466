#!/usr/bin/env python3
"""Plants small mistakes into the kernels, their launchers and the judge, and counts which the gate catches.

A mutant is one change of one place: an operator, a bound, an index, a constant, a barrier or a statement left out, the
order of two statements, a type. Those of kernels are read from a folder, those of C++ are compiled and linked in front of
the library; the build tree is left as it is. A mutant that does not compile is none. What dies is counted against all,
less the ones in explained.txt, which no test can tell from the sound kernel: a line there names file, mutant and reason.

What `check` and the case files let live meets the simulator of `./dev kernel-lint`, which watches accesses: past the end of
an array of an item's own, or without a barrier between two, they need not change a number on any device.

With --gpu a GPU judges, and what is planted is what it runs: the kernels of its own driver, on its matrix engine and as if
it had none, not the forms of CPUs.

  kernel_mutate.py BUILD [--gpu] [--by-hand] [--sample N [--launchers N]] [--seed S] [--only FILE] [--again LOG] [--list] [--at-least PERCENT]
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPLAINED = ROOT / "tests/mutants/explained.txt"
BY_HAND = ROOT / "tests/mutants/by_hand.txt"
SIMULATOR = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
CPU_SECONDS = 180  # a mutant that runs for longer does not end
GPU_SECONDS = 90  # by the clock: who waits for a GPU takes no processor

# Which kernels, in which of their forms, show what a file says; tried in this order. A file that is not named here is a
# kernel's own.
KERNELS = {
    "common.clh": [("paged_decode", "plain"), ("mla_decode", "plain"), ("merge_state", "plain")],
    "merge_splits.clh": [("paged_decode", "plain"), ("mla_decode", "items")],
    "token_slots.clh": [("paged_decode", "plain"), ("mla_decode", "plain")],
    "paged_decode.cl": [("paged_decode", "plain")],
    "mla_decode.cl": [("mla_decode", "plain")],
    "local_decode.cl": [("local_decode", "plain")],
    "decode_blocks.clh": [("mla_decode", "items"), ("paged_decode", "items")],
    "mla_blocks.clh": [("mla_decode", "items")],
    "paged_blocks.clh": [("paged_decode", "items")],
    "decode_tiles.clh": [("mla_decode", "tiles"), ("paged_decode", "tiles"), ("paged_decode", "sub-groups")],
    "mla_tiles.clh": [("mla_decode", "tiles"), ("mla_decode", "sub-groups")],
    "paged_tiles.clh": [("paged_decode", "tiles"), ("paged_decode", "sub-groups")],  # only these share dims out
    "tiles.clh": [("mla_decode", "tiles"), ("paged_decode", "tiles")],
    "tiles_intel.clh": [("mla_decode", "sub-groups"), ("paged_decode", "sub-groups"),
                        ("mla_decode", "narrow sub-groups")],
    "sub_groups_emulated.clh": [("mla_decode", "sub-groups"), ("mla_decode", "narrow sub-groups")],
}
BOTH_FORMS = re.findall(r"^  KERNEL\((\w+)\)", (ROOT / "src/sample/kernel_list.h").read_text(), re.M)
KERNELS |= {f"{name}.cl": [(name, "plain"), (name, "items")] for name in BOTH_FORMS if f"{name}.cl" not in KERNELS}
DECODE = [("mla_decode", "plain"), ("paged_decode", "plain"), ("local_decode", "plain")]
MULTIPLIES = [kernel for kernel, _ in DECODE]  # on a matrix engine where a GPU has one, and else in items
DELTA = [("gated_delta_step", "plain"), ("gated_delta_step", "items"), ("gated_delta_chunk", "plain"),
         ("gated_delta_chunk", "items")]
TILES = [(kernel, form) for form in ("tiles", "sub-groups", "narrow sub-groups") for kernel in ("mla_decode", "paged_decode")]
# Kernels with a maker of samples of their own; the others share one.
SAMPLED = [name for name in BOTH_FORMS if (ROOT / f"src/sample/{name}.cpp").exists()]
# Launchers, samples and references meet the kernels' gate.
GATED = {f"src/kernels/{name}.cpp": [(name, "plain"), (name, "items")] for name in BOTH_FORMS}
GATED["src/kernels/mla_decode.cpp"] += [("mla_decode", "tiles"), ("mla_decode", "sub-groups")]
GATED["src/kernels/paged_decode.cpp"] += [("paged_decode", "tiles"), ("paged_decode", "sub-groups")]
GATED |= {
    "src/kernels/gated_delta.cpp": DELTA,
    "src/kernels/blocks.cpp": [("mla_decode", "items"), ("paged_decode", "items")],
    "src/kernels/tiles.cpp": TILES,
    "src/kernels/gpu_form.cpp": [("mla_decode", "items"), ("paged_decode", "items"), *TILES],
    "src/kernels/kernel_run.cpp": [("paged_decode", "plain"), ("gated_delta_step", "plain")],
    "src/kernels/tensor_parallel.cpp": [("paged_decode", "plain"), ("gated_delta_step", "plain")],
    "src/sample/attention.cpp": DECODE, "src/sample/page_pool.cpp": DECODE, "src/sample/regime.cpp": DECODE,
    "src/sample/gated_delta.cpp": DELTA,
    "src/sample/indices.cpp": [("page_table", "plain"), ("kv_indices", "plain")],
}
GATED |= {f"src/sample/{name}.cpp": [(name, "plain")] for name in SAMPLED}
GATED |= {f"src/reference/{name}.cpp": [(name, "plain")] for name in BOTH_FORMS}
GATED["src/reference/paged.cpp"] = DECODE
# What tests say of them, and of the judge and the plan, whose mistakes reach kernel and reference alike.
SAMPLES = "KernelTable.*:SampleBatch.*:SampleRows.*:PagePool.*:Regime.*:*Regimes*:Random.*:CaseLine.*:CaseFile.*"
JUDGE = "Judge.*:Verdict.*:Tolerance.*:KernelReport.*"
PLAN = "Plan.*:*Regimes*"
TESTED = {"src/verdict/compare.cpp": JUDGE, "src/verdict/tolerance.cpp": JUDGE,
          "src/kernels/run_cases.cpp": JUDGE + ":KernelTable.*:Runner.*:Catalogue/PlantedDefect.*D20_mla*",
          "src/kernels/kernel_run.cpp": "Runner.*:Leftovers.*:DecodeKernels.PassWith*",
          "src/kernels/program.cpp": "Program.*:KernelsCommand.*:Runner.*", "src/kernels/sources.cpp": "KernelSource.*:Runner.*",
          "src/kernels/tensor_parallel.cpp": "TensorParallel.*"}
TESTED |= {f"src/plan/{name}.cpp": PLAN for name in ("attention", "linear_attention", "index_builders", "planned_cases", "decode_shape", "plan")}
TESTED |= {f"src/sample/{name}.cpp": SAMPLES for name in (*SAMPLED, "attention", "page_pool", "regime", "gated_delta", "indices", "case_line",
                                                         "case_file", "random", "rows")}
TESTED |= {f"src/kernels/{name}.cpp": "KernelTable.*:Runner.PlainForms*:Program.*" for name in BOTH_FORMS}
# Mistakes that are run to be refused are none of the gate's cases.
TESTED["src/kernels/local_decode.cpp"] += ":Runner.AChunkCut*"
TESTED["src/kernels/kv_indices.cpp"] += ":Runner.WhatAiterDid*"
TESTED["src/plan/plan.cpp"] += ":LaunchView.*Workspace*"
TESTED["src/kernels/gated_delta.cpp"] = "KernelTable.*"
TESTED |= {"src/kernels/blocks.cpp": "BlocksChoice.*", "src/kernels/tiles.cpp": "IntelTilesChoice.*:Runner.TileForms*",
           "src/kernels/gpu_form.cpp": "IntelTilesChoice.*"}
TESTED |= {f"src/reference/{name}.cpp": "*Reference*" for name in [*BOTH_FORMS, "paged"]}


def one_more(match):
    return str(int(match.group(0)) + 1)


def next_pattern(match):
    return f"0x{int(match.group(1), 16) + 1:X}"


CHANGES = [
    ("bound", r"(?<![<>=!\-])<(?![<=])(?=[ ])", "<="), ("bound", r"<=", "<"), ("bound", r"(?<![<>=\-])>(?![>=])(?=[ ])", ">="),
    ("bound", r">=", ">"), ("operator", r"==", "!="), ("operator", r"!=", "=="), ("operator", r"&&", "||"),
    ("operator", r"\|\|", "&&"), ("operator", r" \+ ", " - "), ("operator", r" - ", " + "), ("operator", r" \* ", " + "),
    ("operator", r" / ", " * "), ("operator", r" % ", " / "), ("operator", r" \+= ", " = "), ("operator", r" \*= ", " = "),
    ("operator", r" >> ", " << "), ("operator", r"\bfmax\(", "fmin("), ("operator", r"\bmin\(", "max("),
    ("operator", r"\bmax\(", "min("), ("operator", r"\bexp2\(", "exp("), ("operator", r"\bexp\(", "exp2("),
    ("operator", r"\blog2\(", "log("), ("operator", r"\blog\(", "log2("),
    ("constant", r"(?<![\w.\"])0(?![\w.\"])", "1"), ("constant", r"(?<![\w.\"])1(?![\w.\"])", "2"),
    ("constant", r"(?<![\w.\"])2(?![\w.\"])", "1"), ("constant", r"(?<![\w.\"])16(?![\w.\"])", "8"),
    ("constant", r"\b0\.0f", "1.0f"), ("constant", r"\b1\.0f", "0.5f"), ("constant", r"-INFINITY", "0.0f"),
    ("constant", r"\b1e-6f", "1e-3f"), ("constant", r" \* LOG2E\b", ""), ("constant", r"\bLN2 \* ", ""),
    ("constant", r"(?<![\w.\"])(?!(?:[012]|16)\b)\d+(?![\w.\"])", one_more), ("constant", r"\b0x([0-9A-F]+)(?=u?\b)", next_pattern),
    ("constant", r"(?<=\dp)(\d+)f\b", lambda m: f"{int(m.group(1)) - 1}f"),
    ("index", r"(?<=[\w\])])\[(\w+)\]", r"[\1 + 1]"), ("index", r"get_group_id\(1\)", "get_group_id(2)"),
    ("type", r"\bsize_t\b(?= \w+ =)", "uchar"), ("type", r"\(size_t\)", "(uchar)"), ("type", r"\blong\b(?= \w+ =)", "char"),
    ("left out", r"barrier\(CLK_LOCAL_MEM_FENCE\);", ";"),
    ("left out", r"^(\s*)(?:[a-z_]\w*(?:\[[^\]]*\])?|\w+\([^()]*\))? ?(?:\+=|\*=|-=|/=) .*;$", r"\1;"),
    ("left out", r"^(\s*)[a-z_]\w*(?:\[[^\]]*\])? = .*;$", r"\1;"),
    ("left out", r"^(\s*)(?:v?store\w*|store_\w+|[a-z_]+_tile|find_\w+|load_\w+)\(.*\);$", r"\1;"),
]
# Names that stand for something of the same kind, so that one is easily written for the other. A word's own neighbours.
MIXED_UP = [("num_heads", "num_kv_heads"), ("HEAD_DIM", "VALUE_DIM"), ("KEY_DIM", "VALUE_DIM"), ("K_DIM", "V_DIM"),
            ("HEADS", "V_HEADS"), ("HEADS", "KV_HEADS"), ("LATENT", "ROPE"), ("KEY_STEPS", "VALUE_STEPS"),
            ("KEY_CHUNKS", "VALUE_CHUNKS"), ("KEY_PITCH", "VALUE_PITCH"), ("columns", "page_size"), ("split", "splits"),
            ("split", "b"), ("t_begin", "t_end"), ("q_nope", "q_rope"), ("keys", "values"), ("k_cache", "v_cache"),
            ("v_a", "v_b"), ("s_a", "s_b"), ("a", "b"), ("SECTION0", "SECTION1"), ("SECTION1", "SECTION2"), ("k_scale", "v_scale"),
            ("scale", "softcap"), ("group", "num_kv_heads"), ("first_row", "row"), ("maximum", "new_maximum"),
            ("most", "maximum"), ("sum", "total"), ("h", "hv"), ("q", "k"), ("w", "u"), ("key", "query"), ("c", "s"),
            ("first", "second"), ("seqlen", "t_end"), ("window", "page_size"), ("tokens", "TOKEN_TILE"), ("here", "next"),
            ("partial_max", "partial_sum"), ("start", "chunk"), ("row", "other"), ("i", "j"), ("entries", "pitch")]
CPP_MIXED_UP = [("num_q_heads", "num_kv_heads"), ("head_dim", "value_dim"), ("k_scale", "v_scale"), ("page_size", "columns"),
                ("window", "page_size"), ("rows", "lanes"), ("kv_tiles", "group_tiles"), ("kv_splits", "page_size"),
                ("tokens", "chunks"), ("chunks", "heads"), ("kv_lora_rank", "qk_rope_head_dim"), ("num_requests", "columns")]
CHANGES += [
    ("operands", r"(?<=[=(] )(\w+) - (\w+)(?=[;,)])", r"\2 - \1"), ("operands", r"\b(exp2?\()(\w+) - (\w+)", r"\1\3 - \2"),
    ("axis", r"get_group_id\(0\)", "get_group_id(1)"), ("axis", r"get_group_id\(2\)", "get_group_id(1)"),
    ("axis", r"get_num_groups\(1\)", "get_num_groups(2)"), ("axis", r"get_num_groups\(2\)", "get_num_groups(1)"),
    ("type", r"\bsize_t\b(?= \w+ =)", "ushort"), ("type", r"\blong\b(?= \w+ =)", "ushort"),
    ("scale", r" \* (\w*scale)\b", ""), ("scale", r" \* (\w*scale)\b", r" * \1 * \1"), ("sign", r"(?<=[=(,] )-(?=\w)", ""),
    ("sign", r"(?<=return )-(?=\w)", ""), ("left out", r" \* rescale(\[[^\]]*\])?", ""), ("left out", r" \* factor\b", ""),
    ("left out", r" - (?:new_)?maximum\b", ""), ("left out", r" % (\w+)", ""), ("rounding", r"vstore_half(4?)_rte", r"vstore_half\1_rtz"),
    ("rounding", r" \+ 0x7FFFu \+ \(\(bits >> 16\) & 1u\)", ""),
]
CPP_CHANGES = [c for c in CHANGES if c[0] in ("bound", "operator", "constant", "left out")] + [
    ("constant", r"\b(\d\.\d*e-\d+)\b", r"100 * \1"), ("constant", r"\b16\.0\b", "32.0"), ("constant", r"\b32\.0\b", "64.0"),
    ("constant", r"= 1e-6\b", "= 1e-5"), ("operator", r"ceil_div\(", "floor_div("), ("operator", r"std::max", "std::min"),
    ("operator", r"std::min", "std::max"), ("constant", r"\btrue\b", "false"), ("constant", r"\bfalse\b", "true"),
    ("axis", r"(?<=[(, ])\{([^{},]+), ([^{},]+), ([^{},]+)\}", r"{\2, \1, \3}"),
    ("axis", r"(?<=[(, ])\{([^{},]+), ([^{},]+), ([^{},]+)\}", r"{\1, \3, \2}"),
    ("left out", r" / run\.device\(\)\.\w+", ""), ("constant", r"(?<![\w.\"])100\.0\b", "10.0"),
    ("order", r"run\.buffer\(\"(\w+)\"\), run\.buffer\(\"(\w+)\"\)", r'run.buffer("\2"), run.buffer("\1")'),
]
# Not what a kernel computes: planted defects, compiler options, text, templates; arrays, which may be larger than needed,
# and what is reserved of them; definitions, which say how work is dealt out, but for those of storage types.
SKIPPED_LINE = re.compile(r"PLANT|NAN_AT_FIRST|ROUND_BF16|CAT\(as_uint, N\)\(x\)|^\s*(local )?\w+ \w+\[[^=]*\][^=]*;|typedef struct \{.*\[|DEFECT|^\s*#(?!\s*define SMALL_)|^\s*//|#pragma|_Pragma|PREFETCH|__builtin_prefetch|fmt::|include|template|constexpr std::array|"
                          r"static_cast<double>|namespace|return \"|work\.(flops|bytes)|\.flops|__attribute__|"
                          r"^\s*inline .*\{$|\.reserve\(")

# Branches of tile products that a CPU does not compile (NVIDIA's, or Intel's where no lanes are emulated), those whose
# #else it does not, and the same of a GPU of NVIDIA's.
ELSEWHERE = re.compile(r"TILE_BODY == 2$|!defined\(TILE_EMULATED\)")
HERE = re.compile(r"(?<!!)defined\(TILE_EMULATED\)$|#ifdef TILE_EMULATED$")
ELSEWHERE_ON_GPU = re.compile(r"TILE_BODY == [13]$|(?<!!)defined\(TILE_EMULATED\)|#ifdef TILE_EMULATED$")
HERE_ON_GPU = re.compile(r"TILE_BODY == 2$")
# What no GPU of NVIDIA's runs: forms of CPUs, and of Intel's matrix engine.
NOT_ON_GPU = {"paged_decode.cl", "mla_decode.cl", "tiles_intel.clh", "sub_groups_emulated.clh"}
on_gpu = False

# nth: which of the places in a file that are changed from the same text to the same, from 1 on.
Mutant = collections.namedtuple("Mutant", "file line kind before after text nth")


def sources():
    files = [f"ocl_kernels/{name}" for name in KERNELS if (ROOT / "ocl_kernels" / name).exists()]
    if on_gpu:
        return [name for name in files if name.split("/")[1] not in NOT_ON_GPU]
    return files + [name for name in {**GATED, **TESTED} if (ROOT / name).exists()]


def is_kernel(file):
    return file.startswith("ocl_kernels/")


def code_of(line):
    return line.split("//")[0].rstrip()


def skipped_functions(lines):
    """Lines of functions that say why a kernel does not run, how much work it is or about how large a sample (which
    KernelTable's tests hold to what is made, within a tenth and more): no number depends on them."""
    skipped, inside = set(), False
    for number, line in enumerate(lines):
        if re.match(r"(std::string why_not|Work work|SampleSize |std::string build_options|Tolerance |std::int64_t workspace)", line):
            inside = re.match(r"(std::string why_not|Work work|SampleSize )", line) is not None
        if inside:
            skipped.add(number)
        if line.startswith("}"):
            inside = False
    return skipped


def not_compiled_here(lines):
    """Lines of a kernel that the judging driver does not compile (NVIDIA's instructions, Intel's own functions), and
    statements that are planted defects themselves."""
    elsewhere, here = (ELSEWHERE_ON_GPU, HERE_ON_GPU) if on_gpu else (ELSEWHERE, HERE)
    skipped, branches, planted = set(), [], False
    for number, line in enumerate(lines):
        word = line.split("//")[0].strip()
        if word.startswith("#if"):
            branches.append([word, elsewhere.search(word) is not None])
        elif word.startswith("#elif") and branches:
            branches[-1] = [word, elsewhere.search(word) is not None]
        elif word.startswith("#else") and branches:
            branches[-1][1] = here.search(branches[-1][0]) is not None
        elif word.startswith("#endif") and branches:
            branches.pop()
        planted = planted or re.match(r"PLANT\(\d+\) \{$", word) is not None
        if planted or any(elsewhere for _, elsewhere in branches):
            skipped.add(number)
        planted = planted and word != "}"
    return skipped


STATEMENT = re.compile(r"\s*(?:\w+ )*?([a-z_]\w*)(\[.*?\])? (?:[-+*/]?=) (.*)")


def depends(first, second):
    """Whether the second statement takes what the first makes: only then does their order matter."""
    made, next_made = STATEMENT.match(first), STATEMENT.match(second)
    if made and next_made and made.group(2) and made.group(1) == next_made.group(1) and made.group(2) != next_made.group(2):
        second = next_made.group(3)  # another element of the same array
    return "barrier" in first + second or (made is not None and re.search(rf"\b{made.group(1)}\b", second) is not None)


def mutants_of(name):
    text = (ROOT / name).read_text()
    lines = text.split("\n")
    of_kernel = is_kernel(name)
    passed_over = not_compiled_here(lines) if of_kernel else skipped_functions(lines)
    found, seen = [], set()  # two rules may make the same text of a line
    places = collections.Counter()

    def keep(kind, number, before, after, text):
        if text in seen:
            return
        seen.add(text)
        places[before, after] += 1  # of all, so that names are the same for each driver
        if number not in passed_over:
            found.append(Mutant(name, number + 1, kind, before, after, text, places[before, after]))

    def add(kind, number, changed):
        if changed != lines[number]:
            keep(kind, number, lines[number].strip(), changed.strip(),
                 "\n".join(lines[:number] + [changed] + lines[number + 1:]))

    for number, line in enumerate(lines):
        code = code_of(line)
        if not code.strip() or SKIPPED_LINE.search(line):
            continue
        if not of_kernel and "<" in code and re.search(r"#include|std::\w+<", code):
            code_changes = [c for c in CPP_CHANGES if c[0] != "bound"]
        elif code.lstrip().startswith("#"):
            code_changes = [c for c in CHANGES if c[0] == "constant"]
        else:
            code_changes = CHANGES if of_kernel else CPP_CHANGES
        for kind, pattern, replacement in code_changes:
            for match in re.finditer(pattern, code):
                made = replacement(match) if callable(replacement) else match.expand(replacement)
                changed = code[:match.start()] + made + code[match.end():]
                add(kind, number, changed)
        if code.lstrip().startswith("#"):  # the other changes would not leave a definition
            continue
        in_sight = set(re.findall(r"\w+", "\n".join(lines[max(0, number - 40):number + 1])))
        for one, two in MIXED_UP if of_kernel else CPP_MIXED_UP:
            for wrong, right in ((one, two), (two, one)):
                # Both have to be in sight, or the mutant would not compile.
                if not {wrong, right} <= in_sight:
                    continue
                for match in re.finditer(rf"(?<![\w.\"]){wrong}\b(?![\"(])" if of_kernel else rf"(?<=\.){wrong}\b", code):
                    # What follows the length in planted_length(…) only planted defects read.
                    declares = re.match(rf"\s*(?:const |local |global )*\w+\*? {wrong} ?[=;,)]", code)
                    if not declares and not ("planted_length(" in code[:match.start()] and "]" in code[:match.start()]):
                        add("mixed up", number, code[:match.start()] + right + code[match.end():])
        if number + 1 < len(lines) and of_kernel:
            after = lines[number + 1]
            plain = re.compile(r"^(\s+)(?!return|break|continue|const |local |global |int |float |size_t )[a-z_][^{}]*;$")
            one, two = plain.match(code), plain.match(code_of(after))
            if one and two and one.group(1) == two.group(1) and not SKIPPED_LINE.search(after) and depends(code, after):
                keep("order", number, line.strip(), f"after: {after.strip()}",
                     "\n".join(lines[:number] + [after, line] + lines[number + 2:]))
    return found


def by_hand():
    """The mistakes of by_hand.txt; each has what is wrong, a file, and lines that stand there once and what takes their place."""
    found = []
    text = "\n".join(line for line in BY_HAND.read_text().split("\n") if not line.startswith("# "))
    for entry in re.split(r"\n{2,}", text.strip()):
        what, name, *hunks = entry.split("\n")
        changed = (ROOT / name).read_text()
        for hunk in re.findall(r"(?:^-.*\n)+(?:^\+.*(?:\n|$))+", "\n".join(hunks), re.M):
            before = "\n".join(line[1:] for line in hunk.rstrip("\n").split("\n") if line[0] == "-")
            after = "\n".join(line[1:] for line in hunk.rstrip("\n").split("\n") if line[0] == "+")
            if changed.count(before) != 1:
                sys.exit(f"{BY_HAND.name}: {what}: {name} has this {changed.count(before)} times, not once:\n{before}")
            line = changed[:changed.index(before)].count("\n") + 1
            changed = changed.replace(before, after)
        found.append(Mutant(name, line, "by hand", what, "", changed, 1))
    return found


def identity(mutant):
    """By text and not by line, so that it stays when lines are added elsewhere; the first of equal texts goes without number."""
    place = f"|{mutant.nth}" if mutant.nth > 1 else ""
    return hashlib.sha256(f"{mutant.file}|{mutant.before}|{mutant.after}{place}".encode()).hexdigest()[:10]


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


# Unoptimised: what is planted is run as it stands, in half of the time. And with what sound kernels call declared by hand,
# where PoCL 3.1 reads 18,000 lines of declarations for every program; a mutant may call others.
UNOPTIMISED = "-cl-opt-disable"
DECLARED_BY_HAND = UNOPTIMISED + " -D_OPENCL_H_ -DBUILTINS"


def run(command, under=None, flags=UNOPTIMISED, **options):
    environment = dict(os.environ, XPU_PREFLIGHT_CACHE_DIR="", POCL_KERNEL_CACHE="0", POCL_EXTRA_BUILD_FLAGS=flags, **(under or {}))
    try:
        return subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, env=environment, errors="replace",
                              timeout=GPU_SECONDS if on_gpu else None, **options)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "killed: it does not end", "")


def word_of(line):
    """killed, survived, or none where nothing was built."""
    if line == "survived":
        return line
    return "none" if line.startswith("killed") and "does not build" in line else "killed"


def verdict_of(done):
    """(word, detail) of a gate that was asked once."""
    line = done.stdout.strip().split("\n")[-1]
    if done.returncode == 2:
        sys.exit(f"the gate itself: {line} {done.stderr}")
    if done.returncode < 0:
        return "killed", f"ended by signal {-done.returncode}"
    return "survived" if done.returncode == 0 else word_of(line), line


def gates_of(file):
    gates = KERNELS.get(file.split("/")[1], GATED.get(file, []))
    return list(dict.fromkeys(gate for kernel, form in gates for gate in gpu_gates(kernel, form))) if on_gpu else gates


def gpu_gates(kernel, form):
    """What of a kernel shows on a GPU what that form of it shows on a CPU."""
    if kernel not in MULTIPLIES:
        return [(kernel, "gpu")]
    return [(kernel, on) for on in {"plain": ["gpu", "gpu items"], "items": ["gpu items"]}.get(form, ["gpu"])]


def simulated(log):
    """The environment in which Oclgrind is the only device, as in `./dev kernel-lint`."""
    return {"OCL_ICD_VENDORS": str(SIMULATOR), "OCLGRIND_LOG": str(log), "OCLGRIND_CHECK_API": "1",
            "OCLGRIND_DATA_RACES": "1", "OCLGRIND_MAX_ERRORS": "1000000", "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"}


BY_A_HAIR = "killed by a hair"
STAGE_AND_CASE = re.compile(r"(?:^killed |what is allowed: )(check|cases|far pages|simulator) (.*?): ")


def stage_of(detail):
    found = STAGE_AND_CASE.search(detail)
    return found.group(1) if found else ""


class SoundKernels:
    """Pass what killed a mutant, or the gate itself is at fault: without its driver, say, it would kill whatever it meets. Asked
    once of each case. One that ended the gate left no case, and no gate that is at fault ends so: the first one is enough. All are
    run where the case is none of the sound gate's own."""

    def __init__(self, build):
        self.build = build
        self.lock = threading.Lock()
        self.answers = {}  # gate, whether simulated, case or "" -> word and detail, once they are there

    def demand(self, gate, is_simulated, detail):
        found = STAGE_AND_CASE.search(detail)
        if self.answer(gate, is_simulated, found.group(2) if found else "first")[0] == "survived":
            return
        word, detail = self.answer(gate, is_simulated, "")
        if word != "survived":
            sys.exit(f"the gate fails without a mutant: {', '.join(gate)}{', simulated' if is_simulated else ''}: {detail}")

    def answer(self, *question):
        with self.lock:
            is_new = question not in self.answers
            answer = self.answers.setdefault(question, concurrent.futures.Future())
        if is_new:
            try:
                answer.set_result(self.ask(*question))
            except BaseException as failure:
                answer.set_exception(failure)  # or others would wait for it
        return answer.result()

    def ask(self, gate, is_simulated, case):
        with tempfile.TemporaryDirectory(prefix="sound-") as folder:
            return verdict_of(run([self.build / "mutant_gate", *gate, "", *([case] if case else [])],
                                  under=simulated(f"{folder}/seen.log") if is_simulated else None))


def first_kill(program, sound, gates, folder, kernels, known=None):
    """Of the first of the gates that kills; one that kills by a hair counts when no other does better. known: what the first of
    them is known to say."""
    hair = None
    for is_simulated in [False] if on_gpu else [False, True]:
        for gate in gates:
            if known and gate == gates[0] and not is_simulated:
                word, detail = known
            else:
                under = simulated(f"{folder}/seen.log") if is_simulated else None
                word, detail = verdict_of(run([program, *gate, *kernels], under=under))
            if word == "killed":
                sound.demand(gate, is_simulated, detail)
            if detail.startswith(BY_A_HAIR):
                hair = hair or detail
            elif word != "survived":
                return word, detail
    return ("killed", hair) if hair else ("survived", "")


def known_of(build, gate, folders):
    """What a gate says of each of those kernels, asked once for all, which takes a third of the time; None of those that do
    not build without what sound kernels do not call, and of all where one ends the gate, or the sound kernel behind them fails:
    one may have written to what is the gate's own."""
    if on_gpu or len(folders) == 1:
        return [None for _ in folders]
    known = []
    while len(known) < len(folders):
        done = run([build / "mutant_gate", *gate, "--each", *folders[len(known):]], flags=DECLARED_BY_HAND)
        if done.returncode == 2:
            sys.exit(f"the gate itself: {done.stdout} {done.stderr}")
        lines = done.stdout.splitlines()
        some = [None if word_of(line) == "none" else (word_of(line), line) for line in lines[:len(folders) - len(known)]]
        has_ended = len(some) < len(folders) - len(known)
        is_sound = not has_ended and lines[-1] == "survived"
        known += some if is_sound else [None for _ in some]
        known += [None] if has_ended else []
    return known


def judge_kernels(build, sound, gates, mutants):
    """Of mutants that meet the same gates."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        folders = []
        for i, mutant in enumerate(mutants):
            folders.append(f"{top}/{i}")
            shutil.copytree(ROOT / "ocl_kernels", folders[-1])
            (pathlib.Path(folders[-1]) / mutant.file.split("/")[1]).write_text(mutant.text)
        known = known_of(build, gates[0], folders)
        for mutant, folder, answer in zip(mutants, folders, known):
            yield mutant, *first_kill(build / "mutant_gate", sound, gates, folder, [folder], answer)


def ninja_command(build, target):
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", target], capture_output=True, text=True).stdout
    return commands.strip().split("\n")[-1]


def linked(build, target, made, program):
    """Linked first: the library's own object of that name is then not taken."""
    link = ninja_command(build, target).replace(f" -o {target} ", f" -o {program} {made} ")
    link = link.split("&& cd ")[0] if "gtest_discover" in link or "GoogleTest" in link else link
    return subprocess.run(link, shell=True, cwd=build, capture_output=True).returncode == 0 and os.path.exists(program)


def judge_cpp(build, sound, mutant):
    """Compiled as the build does it, and linked in front of the library."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        source, made = f"{folder}/mutant.cpp", f"{folder}/mutant.o"
        pathlib.Path(source).write_text(mutant.text)
        library = "preflight_reference" if mutant.file.startswith("src/reference/") else "preflight"
        object_of = f"CMakeFiles/{library}.dir/{mutant.file}.o"
        compile_it = ninja_command(build, object_of).replace(f" -o {object_of}", f" -o {made}")
        compile_it = re.sub(r"-MF \S+", f"-MF {folder}/d", compile_it)
        compile_it = re.sub(r"-c \S+$", f"-c {source}", compile_it).replace("-Werror", "-w")
        if subprocess.run(compile_it, shell=True, cwd=build, capture_output=True).returncode != 0:
            return "none", "does not compile"
        if mutant.file in TESTED:
            if not linked(build, "preflight_tests", made, f"{folder}/tests"):
                return "none", "does not link"
            done = run([f"{folder}/tests", "--gtest_brief=1", "--gtest_filter=" + TESTED[mutant.file]], cwd=build)
            if done.returncode != 0:
                return "killed", "by " + TESTED[mutant.file]
        gates = GATED.get(mutant.file, [])
        if gates and not linked(build, "mutant_gate", made, f"{folder}/gate"):
            return "none", "does not link"
        return first_kill(f"{folder}/gate", sound, gates, folder, [])


def explained():
    """identity -> reason."""
    reasons = {}
    for line in EXPLAINED.read_text().split("\n") if EXPLAINED.exists() else []:
        match = re.match(r"^([0-9a-f]{10}) .*?: (.*)$", line)
        if match:
            reasons[match.group(1)] = match.group(2)
    return reasons


def drawn(draw, by_file, count):
    """So many of those that are not explained: a file after the other, so that small ones are not passed over."""
    reasons = explained()
    pools = [draw.sample(mutants, len(mutants)) for mutants in by_file.values() if mutants]
    pools = [[m for m in mutants if identity(m) not in reasons] for mutants in pools]
    chosen = []
    while len(chosen) < count and any(pools):
        draw.shuffle(pools)
        for pool in pools:
            if pool and len(chosen) < count:
                chosen.append(pool.pop())
    return chosen


def batches(mutants, jobs):
    """(gates, some) of kernels, ((), one) of all else, for which a program is made each."""
    by_gates = collections.defaultdict(list)
    for mutant in mutants:
        by_gates[tuple(gates_of(mutant.file)) if is_kernel(mutant.file) else ()].append(mutant)
    for gates, some in by_gates.items():
        size = min(8, -(-len(some) // jobs)) if gates else 1
        for i in range(0, len(some), size):
            yield gates, some[i:i + size]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__.split("\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--gpu", action="store_true", help="judged by this machine's GPU")
    parser.add_argument("--sample", type=int, help="that many of those that are not explained, drawn evenly over the files; all without it")
    parser.add_argument("--launchers", type=int, help="of the sample so many in launchers, which are compiled and linked, and all others in "
                                                      "kernels; drawn from all files without it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="files whose names contain this")
    parser.add_argument("--again", type=pathlib.Path, help="only what survived in that print of an earlier run, on another driver say")
    parser.add_argument("--by-hand", action="store_true", help="the mistakes of by_hand.txt, in place of those that are generated")
    parser.add_argument("--list", action="store_true", help="the mutants, without running them")
    parser.add_argument("--at-least", type=float, default=0.0, help="fail below this percentage")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.build = options.build.resolve()
    global on_gpu
    on_gpu = options.gpu

    by_file = {name: mutants_of(name) for name in sources() if not options.only or options.only in name}
    if options.by_hand:
        mistakes = by_hand()
        lost = {m.file for m in mistakes} - set(sources())
        if lost and not on_gpu:
            sys.exit(f"{BY_HAND.name}: nothing judges a mistake in {', '.join(sorted(lost))}")
        by_file = {name: [m for m in mistakes if m.file == name] for name in by_file}
    if options.again:
        survivors = set(re.findall(r"^survived +([0-9a-f]{10}) ", options.again.read_text(), re.M))
        by_file = {name: [m for m in mutants if identity(m) in survivors] for name, mutants in by_file.items()}
    chosen = [m for mutants in by_file.values() for m in mutants]
    if options.sample and options.sample < len(chosen):
        draw = random.Random(options.seed)
        if options.launchers is None:
            chosen = drawn(draw, by_file, options.sample)
        else:
            chosen = drawn(draw, {f: m for f, m in by_file.items() if is_kernel(f)}, options.sample - options.launchers)
            chosen += drawn(draw, {f: m for f, m in by_file.items() if f.startswith("src/kernels/")}, options.launchers)
    if options.list:
        for m in chosen:
            print(f"{identity(m)} {m.file}:{m.line} [{m.kind}] {m.before}  ->  {m.after}")
        print(f"{len(chosen)} mutants")
        return 0

    reasons = explained()
    sound = SoundKernels(options.build)
    counts = collections.Counter()
    alive = []

    def judge(gates, mutants):
        if gates:
            return list(judge_kernels(options.build, sound, gates, mutants))
        return [(mutant, *judge_cpp(options.build, sound, mutant)) for mutant in mutants]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        judged = [pool.submit(lambda m: [(m, "explained", reasons[identity(m)])], m) for m in chosen if identity(m) in reasons]
        judged += [pool.submit(judge, *some) for some in batches([m for m in chosen if identity(m) not in reasons], options.jobs)]
        for mutant, word, detail in itertools.chain.from_iterable(done.result() for done in concurrent.futures.as_completed(judged)):
            counts[word] += 1
            counts["hair"] += detail.startswith(BY_A_HAIR)
            counts["check"] += word == "killed" and stage_of(detail) == "check"
            line = f"{word:9} {identity(mutant)} {mutant.file}:{mutant.line} [{mutant.kind}] {mutant.before}  ->  {mutant.after}"
            print(line + (f"\n          {detail}" if detail else ""), flush=True)
            alive += [line] if word == "survived" else []
    if alive:
        print("alive, each to be caught or explained (tests/mutants/explained.txt):", *alive, sep="\n")
    total = counts["killed"] + counts["survived"]
    print(f"killed {counts['killed']} of {total} ({100.0 * counts['killed'] / max(1, total):.1f} %), {counts['hair']} of them by less than three "
          f"times what is allowed, {counts['check']} by what `check` runs; {counts['explained']} cannot be "
          f"told from the sound one, {counts['none']} do not compile")
    return 0 if total and 100.0 * counts["killed"] / total >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
