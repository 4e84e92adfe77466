#!/usr/bin/env python3
"""Inputs just under a megabyte, made to cost as much as they can: what each takes in processor time and memory.

  worst_inputs.py PROGRAM                   the worst of docs/limits.md, and fails where one costs more than it may
  worst_inputs.py PROGRAM --all [PATTERN]   every one, the dearest first
  worst_inputs.py PROGRAM --write           every one, and writes the worst and how the program is linked into docs/limits.md

What is promised stands in ARCHITECTURE.md: a second and 200 MB. The test allows three times the time, of the least of three runs.
"""
import json
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Readers take no more than so much of some kinds: what is refused at the largest size may cost more at a smaller one.
SIZES = 990_000, 500_000, 250_000, 125_000
SIZE = SIZES[0]
SECONDS, MIB = 1.0, 200
MOST_SECONDS = 30
SLOWER = 3
PAGE = os.path.join(ROOT, "docs/limits.md")
MODEL = "--model-path Qwen/Qwen3-8B"
SERVE = f"python -m sglang.launch_server {MODEL}"
CONFIG = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 1024, "num_attention_heads": 16,
          "num_key_value_heads": 8, "vocab_size": 1000, "head_dim": 64, "max_position_embeddings": 4096,
          "intermediate_size": 2048, "moe_intermediate_size": 512, "num_hidden_layers": 4, "num_experts": 8}


WORDS = 9_900  # on a command line, which has 10,000 at most


def few(words):
    return " ".join(words.split(" ")[:WORDS])


def n(most):
    """A number that belongs to the largest size, at this one."""
    return most * SIZE // SIZES[0]


def fill(part, head="", tail="", size=None):
    """As many parts as fit: a text, or a function of the part's number."""
    out, left, i = [head], (size or SIZE) - len(head) - len(tail), 0
    while True:
        text = part if isinstance(part, str) else part(i)
        if not text or len(text) > left:
            return "".join(out) + tail
        out.append(text)
        left -= len(text)
        i += 1


# Case lines that are just within the limits of src/base/limits.h, each by what it has most of.
KERNEL_CASES = ("mla_decode --heads 128 --cache-seqlens 13000", "paged_decode --heads 8 --kv-heads 8 --cache-seqlens 52000",
                "paged_decode --heads 8 --kv-heads 8 --kv-splits 1200 --cache-seqlens 500x20",
                "kv_indices --page 1 --cache-seqlens 3000x3000", "merge_state --tokens 8192 --heads 32 --head-dim 64",
                "mrope --tokens 6144 --heads 16 --kv-heads 8", "gated_delta_step --heads 16 --v-heads 32 --query-lens 1x28",
                "gated_delta_chunk --heads 16 --v-heads 32 --query-lens 400",
                "causal_conv1d --heads 16 --v-heads 32 --query-lens 500 --window 100")

CASES = {}  # name -> (words of the program, {file: text or bytes}, standard input); $D is the files' folder


def case(name, command, files=None, given=""):
    assert name not in CASES, name
    CASES[name] = (command, files or {}, given)


def in_file(kind, file, shapes, commands=("check --no-kernel",)):
    for shape, text in shapes.items():
        for command in commands:
            case(f"{kind}: {shape}" + ("" if command == commands[0] else f" ({command.split()[0]})"), f"{command} $D/{file}",
                 {file: text})


def shell():
    s = SERVE + "\n"
    return {
        "launches that fail": fill(lambda i: f"{SERVE} --tp 3 --port {i}\n", size=n(90_000)),
        "launches without end": fill(lambda i: f"{SERVE} --tp 3 --port {i}\n"),
        "pins": fill("sglang==0.5.19 ", "pip install ", "\n" + s), "pins of extras": fill("sglang[", "pip install ", "\n" + s),
        "assignments": fill(lambda i: f"A{i}=$A{i - 1}x\n", "A0=x\n", s.replace("\n", " --port $A9\n")),
        "appended": fill("A+=x\n", "", s), "appended array": fill("A+=(x y)\n", "", SERVE + ' "${A[@]}"\n'),
        "array by index": fill(lambda i: f"A[{i}]=x\n", "", SERVE + ' "${A[@]}"\n'),
        "continued": fill("--port 1 \\\n", SERVE + " \\\n", "\n"),
        "one line": fill("--port 1 ", SERVE + " ", "\n"),
        "unknown options": fill(lambda i: f"--o{i} x ", SERVE + " ", "\n"),
        "near options": fill(lambda i: f"--page-siz{i % 7} 1 ", SERVE + " ", "\n"),
        "substitutions side by side": fill("$(x) ", SERVE + " ", "\n"),
        "substitutions nested": "A=" + "$(" * n(400_000) + ")" * n(400_000) + "\n" + s,
        "quotes nested": 'A="' + '$(echo "' * n(90_000) + s,
        "braces": fill("{a,b}", SERVE + " ", "\n"), "braces nested": "echo " + "{a," * n(200_000) + "}" * n(200_000) + "\n" + s,
        "parameter nested": "A=" + "${A:-" * n(150_000) + "}" * n(150_000) + "\n" + s,
        "patterns": fill(lambda i: "A=${A//" + "*a" * 60 + "/b}\n", "A=" + "a" * 4000 + "\n", s),
        "replaced": fill("A=${A//a/aa}\n", "A=a\n", s),
        "if": fill("if x; then\n", "", s), "if closed": fill("if x; then y; fi\n", "", s),
        "if closed with launches": fill(f"if x; then {SERVE}; fi\n", ""),
        "case arms": fill(lambda i: f"a{i}) {SERVE};;\n", "case $X in\n", "esac\n"),
        "for": fill("for i in 1 2 3; do\n", "", s), "for nested closed": fill("for i in 1 2 3 4 5 6 7 8; do ", "", size=500) +
        SERVE + " --port $i; " + "done; " * 17 + "\n",
        "loops": fill("for i in 1 2 3 4 5 6 7 8 9; do A=$A$i; done\n", "", s),
        "while": fill("while read x; do y; done <<< a\n", "", s),
        "counted": fill("for ((i=0;i<60;i++)); do A=$((A+i)); done\n", "", s),
        "functions": fill(lambda i: f"f{i}() {{ f{i - 1}; f{i - 1}; }}\n", f"f0() {{ {SERVE}; }}\n", "f9000\n"),
        "functions doubled": f"f0() {{ {SERVE}; }}\n" + "".join(f"f{i}() {{ f{i - 1}; f{i - 1}; }}\n" for i in range(1, 60)) +
        "f38\n" + "# x\n" * n(100_000),
        "recursion": fill("f() { f; f; }\n", "", "f\n" + s), "calls": fill("f x y z\n", 'f() { A="$A$1"; }\n', s),
        "here-documents": fill(lambda i: f"cat <<E{i}\nx $Y\nE{i}\n", "", s),
        "here-document": fill(lambda i: f"{SERVE} --port {i}\n", "bash <<E\n", "E\n", size=n(120_000)),
        "open here-documents": fill("cat <<E ", "", "\n" + s),
        "bash -c nested": "bash -c '" * n(100_000) + s, "bash -c": fill(f'bash -c "{SERVE}"\n'),
        "arithmetic": "A=$((" + fill("1+", "", "1", size=n(500_000)) + "))\n" + s,
        "arithmetic brackets": "A=$((" + "(" * n(200_000) + "1" + ")" * n(200_000) + "))\n" + s,
        "arithmetic of names": fill(lambda i: f"A{i}=A{i - 1}+A{i - 1}\n", "A0=1\n", "echo $((A30000))\n" + s),
        "tests": fill('[[ $A =~ ^(a|b)*$ ]] && A=x\n', "", s), "and": fill("x && ", "", s), "pipes": fill("x | ", "", s),
        "sourced": fill(". ./x.sh\n", "", s), "set": fill("set -- a b c\n", "", s + '"$@"\n'),
        "shift": fill("shift\n", "set -- " + "a " * 1000 + "\n", s), "read": fill("read -r A B C\n", "", s),
        "eval": fill("eval A=$A$A\n", "A=x\n", s), "alias": fill(lambda i: f"alias a{i}='a{i - 1} x'\n", "", s),
        "comments": fill("# sglang.launch_server --tp 3\n", "", s), "mentions": fill("echo sglang.launch_server\n"),
        "mentions in text": fill("sglang.launch_server "), "ignores": fill("# xpu-preflight: ignore=PL003\n", "", s),
        "exports": fill(lambda i: f"export A{i}=x\n", "", s), "env prefix": fill(lambda i: f"A{i}=x ", "", s),
        "SGLANG variables": fill(lambda i: f"export SGLANG_A{i}=x\n", "", s),
        "docker -e": fill(lambda i: f"-e A{i}=x ", "docker run ", f"img {SERVE}\n"),
        "docker -v": fill(lambda i: f"-v /a{i}:/b{i} ", "docker run ", f"img {SERVE} --config /b7/x\n"),
        "secrets": fill("HF_TOKEN=abc ", "", s), "closed words": fill("login pass abc Xyz9 || ", "", s),
        "addresses": fill("http://u:p@h ", "curl ", "\n" + s), "backticks": fill("`a` ", SERVE + " ", "\n"),
        "printf": fill("A=$(printf '%s' a)\n", "", s), "printf doubled": fill("A=$(printf '%s%s' $A $A)\n", "A=x\n", s),
        "seq": fill("for i in $(seq 200); do A=x; done\n", "", s), "xargs": fill("echo a | xargs x\n", "", s),
        "one word": SERVE + " --served-model-name " + "a" * n(900_000) + "\n", "wide letters": SERVE + " " + "é" * n(400_000) + "\n",
        "NUL": SERVE + " " + "\0" * n(900_000), "carriage returns": fill("\r\n", "", s), "backslashes": "\\" * n(900_000) + s,
        "conda": fill("conda run ", "", s, size=n(900_000)), "env": fill("env ", "", s), "sudo": fill("sudo -E ", "", s),
        "ssh": fill("ssh h ", "", s), "trap": fill("trap 'x' EXIT\n", "", s), "written scripts":
        fill(lambda i: f"cat > s{i}.sh <<E\n{SERVE}\nE\nbash s{i}.sh\n"), "getopts":
        fill("while getopts a:b o; do case $o in a) A=$OPTARG;; esac; done\n", "", s),
        "kubectl": fill("kubectl apply -f - <<E\nkind: Pod\nE\n", "", s)}


def manifests():
    k8s = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    command: [python, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B]\n"
    compose = f"services:\n  a:\n    image: x\n    command: {SERVE}\n"
    step = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n"
    shapes = {
        "pods": fill(k8s + "---\n"), "pods that fail": fill(k8s.replace("8B]", "8B, --tp, '3']") + "---\n", size=n(200_000)),
        "env": fill(lambda i: f"    - {{name: A{i}, value: x}}\n", k8s + "    env:\n"),
        "env that fits": fill(lambda i: f"    - {{name: A{i}, value: $(A{i - 1})$(A{i - 1})}}\n", k8s + "    env:\n", size=n(20_000)),
        "args": fill("    - --port\n    - '1'\n", k8s + "    args:\n"),
        "args script": k8s.replace("[python", "[bash, -c, '" + SERVE + "', python") +
        fill(f"      {SERVE} --tp 3\n", "    args:\n    - |\n"),
        "config maps": fill(lambda i: f"---\nkind: ConfigMap\nmetadata: {{name: c{i}}}\ndata: {{a.sh: x}}\n", k8s),
        "env from maps": fill("    - configMapRef: {name: c}\n", k8s + "    envFrom:\n",
                              "---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {A: x}\n"),
        "includes": "include:\n" + fill("- ./x.yaml\n", size=n(900_000)) + compose,
        "names by aliases": "apiVersion: v1\nkind: List\nx: &a " + "a" * n(600_000) + "\nitems:\n" + fill(
            "- kind: Pod\n  metadata: {name: x}\n  spec:\n    containers:\n    - name: c\n      command: [python, -m, sglang.launch_server]\n"
            "      volumeMounts: [{name: v, mountPath: *a}]\n", size=n(380_000)),
        "variables by aliases": "x: &a\n" + "".join(f"  A{i}: x\n" for i in range(500)) + "services:\n" + fill(
            lambda i: f"  s{i}:\n    image: x\n    environment: *a\n    command: {SERVE}\n", size=n(120_000)),
        "jobs that extend": fill(lambda i: f"j{i}:\n  extends: [j{i - 1}, .t]\n", f".t: {{image: x}}\nj0:\n  script: ['{SERVE}']\n"),
        "jobs and variables": "variables:\n" + fill(lambda i: f"  A{i}: x\n", size=n(500_000)) + fill(
            lambda i: f"j{i}:\n  script: [x]\n", f"j:\n  script: ['{SERVE}']\n", size=n(490_000)),
        "references": fill(lambda i: f"j{i}:\n  script:\n  - !reference [.t, script]\n", f".t:\n  script: ['{SERVE}']\n"),
        "written variables": step + fill(lambda i: f"    - run: echo A{i}=x >> $GITHUB_ENV\n"),
        "variables of a workflow": step.replace("jobs:", "env:\n" + "".join(f"  A{i}: x\n" for i in range(500)) + "jobs:") + fill(
            f"    - run: {SERVE}\n", size=n(70_000)),
        "a script of many": "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  a.sh: |\n" + fill("    # x\n", size=n(500_000)) + f"    {SERVE}\n" + fill(
            "---\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    command: [bash, /s/a.sh]\n"
            "    volumeMounts: [{name: s, mountPath: /s}]\n  volumes: [{name: s, configMap: {name: c}}]\n", size=n(200_000)),
        "services": fill(lambda i: f"  s{i}: {{image: x, command: x}}\n", compose),
        "services that serve": fill(lambda i: f"  s{i}:\n    image: x\n    command: {SERVE} --tp 3\n", compose, size=n(70_000)),
        "depends": fill(lambda i: f"  s{i}: {{depends_on: [s{i + 1}]}}\n", compose),
        "extends": fill(lambda i: f"  s{i}: {{extends: s{i + 1}}}\n", compose),
        "environment": fill(lambda i: f"      A{i}: ${{A{i - 1}}}\n", compose + "    environment:\n"),
        "volumes": fill("    - /a:/b\n", compose + "    volumes:\n"), "devices": fill("    - /dev/dri\n", compose + "    devices:\n"),
        "interpolated": compose + "    labels:\n" + fill("    - ${A:-${B:-c}}\n"),
        "interpolation nested": compose.rstrip() + " " + "${A:-" * n(100_000) + "}" * n(100_000) + "\n",
        "steps": fill(lambda i: f"    - run: {SERVE} --port {i}\n", step, size=n(70_000)), "steps idle": fill("    - run: echo\n", step),
        "matrix": step.replace("    steps", "    strategy: {matrix: {a: [" + "1, " * n(50_000) + "1], b: [" + "1, " * n(50_000) +
                               "1]}}\n    steps") + f"    - run: {SERVE} --port ${{{{ matrix.a }}}}\n",
        "expressions": step + "    - run: " + fill("${{ env.A }}") + "\n", "env of jobs":
        fill(lambda i: f"      A{i}: ${{{{ env.A{i - 1} }}}}\n", step.replace("    steps", "    env:\n      A0: x\n"),
             f"    steps:\n    - run: {SERVE}\n"),
        "gitlab": fill(lambda i: f"j{i}:\n  script: [x]\n  extends: j{i + 1}\n", f"a:\n  script: ['{SERVE}']\n"),
        "gitlab variables": fill(lambda i: f"  A{i}: $A{i - 1}$A{i - 1}\n", f"a:\n  script: ['{SERVE}']\nvariables:\n"),
        "ansible": fill(lambda i: f"  - shell: {SERVE} --port {i}\n", "- hosts: a\n  tasks:\n", size=n(60_000)),
        "argo": fill("  - {name: a, container: {command: [x]}}\n", "kind: Workflow\nspec:\n  templates:\n"),
        "sky": "run: |\n" + fill(f"  {SERVE}\n", size=n(40_000)) + "envs:\n" + fill(lambda i: f"  A{i}: x\n")}
    yaml = {
        "deep flow": "[" * n(900_000), "deep blocks": "".join(" " * i + "a:\n" for i in range(1, 1300)), "colons": ":" * n(900_000),
        "question marks": "? " * n(400_000), "dashes": "- " * n(400_000), "commas": "[" + "," * n(900_000), "documents": fill("---\n"),
        "keys": fill(lambda i: f"k{i}: 1\n"), "equal keys": fill("k: 1\n"), "anchors": fill(lambda i: f"k{i}: &a{i} x\n"),
        "aliases": fill("- *a\n", "- &a [x,x,x,x,x,x,x,x]\n"), "tags": fill("- !!python/object x\n"), "quotes": "'" * n(900_000),
        "double quotes": '"' * n(900_000), "folded": "a: >\n" + fill("  x\n"), "escapes": 'a: "' + "\\x41" * n(220_000) + '"\n',
        "merges": fill("<<: *a\n", "a: &a {b: 1}\n"), "long line": "a: " + "x " * n(450_000), "comments": fill("# x\n"),
        "numbers": fill("- 0x1_2:3e4\n"), "one number": "a: " + "9" * n(900_000), "dates": fill("- 2001-12-14t21:59:43.10-05:00\n"),
        "tabs": "\t" * n(900_000), "percent": fill("%YAML 1.1\n"), "binary": "a: !!binary " + "QUFB" * n(220_000), "sets":
        fill(lambda i: f"? k{i}\n"), "pairs in flow": fill(lambda i: f"k{i}: 1, ", "{", "}"), "lists in flow": fill("[], ", "[", "]"),
        "keys of lists": fill("? [a, b]\n: c\n"), "strings": fill("- 'a'\n")}
    return shapes, yaml


def programs():
    run = "import subprocess\nsubprocess.run(['python','-m','sglang.launch_server','--model-path','Qwen/Qwen3-8B'])\n"
    turns = "for i in range(2000):\n for j in range(2000):\n  "
    return {
        "launches": fill(run, size=n(110_000)), "assignments": fill(lambda i: f"a{i} = a{i - 1} + 'x'\n", "a0 = 'x'\n", run),
        "doubled": fill("a = a + a\n", "a = 'x'\n", run), "lists": fill("a = a + a\n", "a = ['x']\n", run),
        "appended": fill("a.append('x')\n", "a = []\n", run), "dictionary": fill(lambda i: f"'k{i}': 1,\n", "a = {\n", "}\n" + run),
        "items": fill(lambda i: f"a[{i}] = 1\n", "a = {}\n", run), "list": fill("1,", "a = [", "]\n" + run),
        "if": fill("if x:\n  y = 1\nelse:\n  y = 2\n", "", run), "if with lists": fill("if x:\n  a.append(1)\n", "a = []\n", run),
        "deep if": "".join(" " * i + "if x:\n" for i in range(1300)), "for": fill("for i in range(2000): a = i\n", "", run),
        "for nested": "for a in range(2000):\n for b in range(2000):\n  for c in range(2000):\n   d = 1\n" + run + "#" * n(800_000),
        "while": fill("while True: x = 1\n", "", run), "functions": fill(lambda i: f"def f{i}():\n  f{i - 1}(); f{i - 1}()\n",
                                                                          "def f0(): pass\n", "f9000()\n" + run),
        "doubling calls": "def f0(): pass\n" + "".join(f"def f{i}():\n  f{i - 1}(); f{i - 1}()\n" for i in range(1, 29)) + "f28()\n" + run,
        "recursion": "def f(x):\n  f(x + 1); f(x + 2)\nf(0)\n" + run, "classes": fill(lambda i: f"class C{i}:\n  a = 1\n", "", run),
        "comprehensions": fill("a = [i for i in range(2000) for j in range(2000)]\n", "", run), "strings": fill("'a' ", "a = (", ")\n" + run),
        "f-strings": fill("a = f'{a}{a}'\n", "a = 'x'\n", run), "formats": fill("a = '%s%s' % (a, a)\n", "a = 'x'\n", run),
        "brackets": "a = " + "(" * n(400_000) + ")" * n(400_000) + "\n" + run, "sums": fill("1 + ", "a = ", "1\n" + run),
        "nots": fill("not ", "a = ", "1\n" + run), "lambdas": fill("lambda x: ", "a = ", "1\n" + run),
        "attributes": fill(".a", "a = x", "\n" + run), "calls": fill("f(", "a = ", ")" * n(300_000) + "\n" + run, size=n(900_000)),
        "powers": fill("a = a ** a\n", "a = 9\n", run), "times": fill("a = a * 99999999\n", "a = 9\n", run),
        "repeat": fill("a = 'x' * 10 ** 9\n", "", run), "triple": "'''" + "x" * n(900_000), "comments": fill("# x\n", "", run),
        "imports": fill("import a.b.c\n", "", run), "decorators": fill("@a\n", "", "def f(): pass\n" + run),
        "try": fill("try: f()\nexcept: pass\n", "", run), "with": fill("with a: pass\n", "", run), "match":
        fill(lambda i: f"  case {i}: y = 1\n", "match x:\n", run), "argparse": fill(lambda i: f"p.add_argument('--a{i}')\n",
            "import argparse\np = argparse.ArgumentParser()\n", "a = p.parse_args()\n" + run),
        "environ": fill(lambda i: f"os.environ['A{i}'] = 'x'\n", "import os\n", run), "split": fill("a = ' x'.split() * 99\n", "", run),
        "join": fill("a = ','.join([a, a])\n", "a = 'x'\n", run), "replace": fill("a = a.replace('x', 'xx')\n", "a = 'x'\n", run),
        "engine": fill("sglang.Engine(model_path='Qwen/Qwen3-8B', tp_size=3)\n", "import sglang\n", size=n(60_000)),
        "engine arguments": fill(lambda i: f"a{i}=1, ", "import sglang\nsglang.Engine(model_path='x', ", ")\n"),
        "json": "import json\na = json.loads('" + "[" * n(400_000) + "')\n" + run, "semicolons": fill("a=1;", "", "\n" + run),
        "global": fill("global a\n", "def f():\n  ", run), "unpacking": fill("*a, ", "a = [1, 2]\nb = [", "]\n" + run),
        "slices": fill("a = a[:] + a[1:]\n", "a = [1, 2]\n", run), "sets": fill(lambda i: f"{i},", "a = {", "}\n" + run),
        "walrus": fill("(a := 1)\n", "", run), "ternaries": fill("1 if x else ", "a = ", "2\n" + run), "and": fill("x and ", "a = ", "2\n" + run),
        "compares": fill("x < ", "a = ", "2\n" + run), "mentions": fill("print('sglang.launch_server')\n"),
        "os.system": fill(f"os.system('{SERVE}')\n", "import os\n", size=n(60_000)), "yield": fill("yield 1\n  ", "def f():\n  ", "\n" + run),
        "named formats": fill("a = '%(q)s%(q)s' % {'q': a}\n", "a = 'x'\n", run), "reprs": fill("a = repr(repr(a))\n", "a = 'x'\n", run),
        "dumped": fill("a = json.dumps([a, a])\n", "import json\na = 'x'\n", run),
        "texts that start nothing": fill(lambda i: f"subprocess.run(f'python -m sglang.launch_server --model-path m{i}')\n", "import subprocess\n", run),
        "quoted": fill("a = shlex.quote(a)\n", "import shlex\na = \"x'\"\n", run),
        "paths": fill("a = os.path.join(a, a)\n", "import os\na = 'x'\n", run),
        "keys": fill("a = {str(a): str(a)}\n", "a = {}\n", run),
        "list by index": "a = [0] * 100000\n" + turns + "a[0]\n" + run, "text by index": "a = 'a' * 200000\n" + turns + "a[0]\n" + run,
        "popped": "a = [0] * 100000\n" + turns + "a.pop(0)\n" + run,
        "sought": "a = 'a' * 200000\nb = 'a' * 100000 + 'b'\n" + turns + "b in a\n" + run,
        "compared": "a = [0] * 1000\nb = [a] * 1000\nc = [b] * 1000\nd = [b] * 1000\nc == d\n" + run,
        "copied": "a = {i: i for i in range(1000)}\nb = []\nfor i in range(2000): b.append(a.copy())\n" + run,
        "asked": turns + "f(1)\n" + run, "made": turns + "[]\n" + run,
        "parameters": "def f(" + ",".join(f"a{i}" for i in range(40_000)) + "): pass\nf(" + ",".join(f"a{i}=1" for i in range(25_000)) + ")\n"}


def others():
    make = f"serve:\n\t{SERVE} $(X)\n"
    image = f"FROM x\nCMD {SERVE}\n"
    unit = f"[Service]\nExecStart=/usr/bin/{SERVE}\n"
    nomad = 'job "a" { group "b" { task "c" { driver = "docker"\nconfig { command = "python"\nargs = ["-m", "sglang.launch_server", "--model-path", "x"'
    shapes = {
        "Dockerfile": {
            "ENV": fill(lambda i: f"ENV A{i}=$A{i - 1}\n", "FROM x\n", image), "ARG": fill(lambda i: f"ARG A{i}=x\n", "FROM x\n", image),
            "RUN": fill("RUN x\n", "FROM x\n", image), "FROM": fill(lambda i: f"FROM a{i} AS a{i + 1}\n", "", image),
            "stages that serve": fill(image), "continued": fill("RUN a \\\n", "FROM x\n", image), "COPY": fill("COPY a b\n", "FROM x\n", image),
            "WORKDIR": fill("WORKDIR a\n", "FROM x\n", image), "RUN and stages": "FROM x AS s0\n" + fill("RUN x\n", size=n(500_000)) + fill(
                lambda i: f"FROM s{i} AS s{i + 1}\n", "", image, size=n(480_000)),
            "COPY here": fill("COPY <<E a.sh\nx\nE\n", "FROM x\n", image), "words": fill("a ", "FROM x\nCMD ", "\n"), "list":
            fill('"a",', "FROM x\nCMD [", '"a"]\n'), "SHELL": fill('SHELL ["a"]\n', "FROM x\n", image), "one ENV":
            fill(lambda i: f"A{i}=x ", "FROM x\nENV ", "\n" + image), "comments": fill("# escape=`\n", "", image)},
        "Makefile": {
            "variables": fill(lambda i: f"X{i} = $(X{i + 1})\n", "X = $(X0)\n", make), "doubling": "X0 = a\n" + "".join(
                f"X{i} = $(X{i - 1})$(X{i - 1})\n" for i in range(1, 40)) + "X = $(X39)\n" + make,
            "rules": fill(lambda i: f"r{i}:\n\tx\n", "", make), "rules that serve": fill(lambda i: f"r{i}:\n\t{SERVE} $(X)\n", size=n(60_000)),
            "prerequisites": fill(lambda i: f"r{i}: r{i + 1}\n", "", make), "if": fill("ifeq ($(A),b)\nA = c\nendif\n", "", make),
            "define": fill("x\n", "define X\n", "endef\n" + make), "foreach": fill("$(foreach i,a b c,$(i)) ", "X = ", "\n" + make),
            "foreach nested": "X = " + "$(foreach i,a b c d e f g h," * 30 + "$(i)" + ")" * 30 + "\n" + make, "call":
            fill("$(call F,a) ", "F = $(1)$(1)\nX = ", "\n" + make), "shell": fill("X := $(shell x)\n", "", make), "lines":
            fill("\tx\n", make), "tabs": fill("\t\t", make), "patsubst": fill("$(patsubst %a,%b,a aa) ", "X = ", "\n" + make), "include":
            fill("include x.mk\n", "", make), "eval": fill("$(eval A = b)\n", "", make), "export": fill(lambda i: f"export A{i} = x\n", "", make),
            "export to a launch that fails": fill(lambda i: f"export A{i} = x\n", "", make.replace("$(X)", "stray")),
            "includes and variables": fill(lambda i: f"A{i} != x\ninclude m{i}\n", "", make),
            "exports and recipes": fill(lambda i: f"export A{i} = x\n", size=n(120_000)) + fill(lambda i: f"r{i}:\n\t@echo x\n", "", make, size=n(120_000)),
            "kept values": fill(lambda i: f"A{i} := $(A{i - 1}) x\n", "A0 := x\n", make)},
        "a.service": {
            "Environment of a launch that fails": fill(lambda i: f"Environment=A{i}=x\n", unit.rstrip() + " stray\n"), "Environment": fill(lambda i: f"Environment=A{i}=x\n", unit), "ExecStartPre": fill("ExecStartPre=/bin/x\n", unit), "ExecStart":
            fill(f"ExecStart=/usr/bin/{SERVE}\n", "[Service]\nType=oneshot\n", size=n(60_000)), "words": unit.rstrip() + " " + fill("$A ") + "\n", "continued":
            unit.rstrip() + fill(" \\\n --port 1") + "\n", "specifiers": unit.rstrip() + " " + fill("%i ") + "\n", "sections":
            fill("[Service]\n", unit), "comments": fill("# x\n", unit), "EnvironmentFile": fill("EnvironmentFile=/x\n", unit)},
        "a.nomad": {
            "args": nomad + fill(', "a"') + "] } } } }\n", "nested": fill('a "b" {', nomad), "variables":
            fill(lambda i: f'variable "a{i}" {{ default = "x" }}\n', "", nomad + "] } } } }\n"), "templates": nomad + ', "' + fill("${a}") + '"] } } } }\n',
            "env": nomad + "]}\nenv {\n" + fill(lambda i: f'A{i} = "x"\n') + "} } } }\n", "braces": "{" * n(900_000), "heredocs":
            fill("a = <<E\nx\nE\n", nomad + "]}\n"), "comments": fill("# x\n", "", nomad), "open comment": "/*" * n(450_000)},
        "a.ipynb": {
            "cells": json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n"]}] * 4900, "nbformat": 4}), "lines":
            json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n"] * n(70_000)}], "nbformat": 4}), "shell lines":
            json.dumps({"cells": [{"cell_type": "code", "source": [f"!{SERVE} --tp 3\n"] * 700}], "nbformat": 4}), "text cells":
            json.dumps({"cells": [{"cell_type": "markdown", "source": ["x\n"]}] * 4900, "nbformat": 4}), "magics":
            json.dumps({"cells": [{"cell_type": "code", "source": ["%env A=b\n"] * n(60_000)}], "nbformat": 4}), "bash cells":
            json.dumps({"cells": [{"cell_type": "code", "source": ["%%bash\n", SERVE + "\n"]}] * 900, "nbformat": 4}), "no cells":
            json.dumps({"cells": [{}] * n(200_000), "nbformat": 4}), "outputs":
            json.dumps({"cells": [{"cell_type": "code", "source": ["x"], "outputs": [{"text": "a"}] * n(40_000)}], "nbformat": 4})},
        "a.md": {
            "blocks": fill(f"```bash\n{SERVE}\n```\n", size=n(80_000)), "empty blocks": fill("```bash\n```\n"), "open fences": fill("```bash\n"),
            "ticks": "`" * n(900_000), "YAML blocks": fill("```yaml\na: b\n```\n"), "Python blocks": fill("```python\nx = 1\n```\n"),
            "indented": fill("    x\n"), "prompts": fill(f"```console\n$ {SERVE}\n```\n", size=n(80_000)), "quotes": fill("> "), "lists":
            fill(lambda i: "  " * (i % 50) + "- x\n"), "long line": "x" * n(900_000), "mentions": fill("`sglang.launch_server` is run.\n"),
            "tables": fill("| a | b |\n"), "headings": fill("# x\n"), "tildes": fill("~~~sh\nx\n~~~\n")},
        "a.rst": {"blocks": fill(f".. code-block:: bash\n\n   {SERVE}\n\n", size=n(80_000)), "literals": fill("x::\n\n  y\n\n"),
                  "directives": fill(".. code-block:: bash\n")},
        "a.log": {
            "server_args": fill("server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=3)\n", size=n(60_000)), "open":
            fill("server_args=ServerArgs("), "fields": fill(lambda i: f"f{i}=1, ", "server_args=ServerArgs(model_path='x', ", ")\n"),
            "lists": "server_args=ServerArgs(a=" + "[" * n(400_000), "lines": fill("INFO x\n"), "quotes": "server_args=ServerArgs(a='" + "\\'" * n(400_000)},
        "a.json": {
            "words": '["python","-m","sglang.launch_server"' + fill(',"a"') + "]", "containers":
            '{"a":[' + fill('{"command":["python","-m","sglang.launch_server","--model-path","x"]},', size=n(80_000)) + "{}]}", "nested":
            '{"a":' * n(160_000), "lists": "[" * n(900_000), "objects": "[" + fill("{},") + "{}]", "keys": "{" + fill(lambda i: f'"k{i}":1,') + '"a":1}',
            "equal keys": "{" + fill('"k":1,') + '"a":1}', "escapes": '"' + "\\u0041" * n(160_000) + '"', "digits": "9" * n(900_000),
            "editor": '{"configurations":[' + fill(lambda i: f'{{"name":"{i}","args":[]}},') + "{}]}"},
        "cmdline": {"words": fill("a\0", "python\0-m\0sglang.launch_server\0"), "empty": "python\0-m\0sglang.launch_server" + "\0" * n(900_000)},
        "Procfile": {"lines": fill(f"a: {SERVE}\n", size=n(60_000)), "idle": fill("a: x\n")},
        "supervisord.conf": {"sections": fill(lambda i: f"[program:{i}]\n", "", f"[program:z]\ncommand={SERVE}\n"), "programs": fill(lambda i: f"[program:{i}]\ncommand={SERVE}\n", size=n(70_000)), "idle": fill("[program:a]\ncommand=x\n")},
        "a.container": {"lines": fill("Environment=A=b\n", f"[Container]\nImage=x\nExec={SERVE}\n"), "Exec": fill(f"Exec={SERVE}\n", "[Container]\n")},
        "a.txt": {"letters": "a" * n(900_000), "NUL": "\0" * n(900_000), "bytes": bytes(random.Random(1).randrange(256) for _ in range(n(900_000))),
                  "newlines": "\n" * n(900_000), "words": fill("python -m sglang.launch_server "), "quotes": '"' * n(900_000)},
    }
    for file, rows in shapes.items():
        in_file(file, file, rows)


def models():
    def config(name, extra=None, text=None, draft=False):
        body = text if text is not None else json.dumps({**CONFIG, **(extra or {})})
        files = {"m/config.json": body}
        case(f"config.json: {name}", "check --no-kernel -- --model-path $D/m", files)
    config("layer types", {"layer_types": ["full_attention", "sliding_attention"] * n(20_000)})
    config("layer types of all layers", {"num_hidden_layers": 1024, "layer_types": ["full_attention", "sliding_attention"] * 512})
    config("settings", {f"k{i}": i for i in range(n(60_000))})
    config("settings that fit", {f"k{i}": i for i in range(450)})
    config("labels", {"id2label": {str(i): f"L{i}" for i in range(n(30_000))}})
    config("nested", text="{\"a\":" * n(150_000))
    config("nested part", {"text_config": {f"k{i}": i for i in range(n(32_000))}})
    config("parts in parts", text=json.dumps(CONFIG)[:-1] + ',"text_config":{"a":1' * 900 + "}" * 901)
    config("rope", {"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * n(60_000), "long_factor": [1.0] * n(60_000)}})
    config("ignored layers", {"num_hidden_layers": 1024, "quantization_config": {"quant_method": "fp8", "ignored_layers":
           [f"model.layers.{i}.mlp" for i in range(n(30_000))]}})
    config("quantized groups", {"num_hidden_layers": 1024, "quantization_config": {"quant_method": "compressed-tensors", "config_groups": {
        f"g{i}": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int"}} for i in range(8_000)}}})
    config("quantized targets", {"num_hidden_layers": 1024, "quantization_config": {"quant_method": "compressed-tensors", "ignore":
           [f"re:.*a{i}.*b" for i in range(n(40_000))], "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 8}}}}})
    config("expressions that go back", {"num_hidden_layers": 1024, "quantization_config": {"quant_method": "compressed-tensors", "ignore":
           ["re:(a*)*b", "re:(.*)*x", "re:" + "(.*" * 50 + ")" * 50 + "y"] * 300, "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 8}}}}})
    config("architectures", {"architectures": ["A" * 100] * 9_000})
    config("one long name", {"architectures": ["A" * n(900_000)]})
    config("one number", text=json.dumps(CONFIG)[:-1] + ',"x":' + "9" * n(900_000) + "}")
    config("auto_map", {"auto_map": {f"A{i}": "a.B" for i in range(n(32_000))}})
    config("id2label", {"id2label": {str(i): f"LABEL_{i}" for i in range(n(30_000))}})
    config("eos", {"eos_token_id": list(range(n(65_000)))})
    config("list by layer", {"num_hidden_layers": 1024, "num_key_value_heads": [8] * 1024, "mlp_only_layers": list(range(1024))})
    config("pattern", {"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hybrid_override_pattern": "M*-" * n(300_000)})
    config("gibberish", text="\\" * n(900_000))
    config("vision", {"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl", "vision_config":
           {"depth": 1024, "fullatt_block_indexes": list(range(n(60_000)))}})
    header = json.dumps({f"model.layers.{i}.w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [8 * i, 8 * i + 8]} for i in range(10_500)}).encode()
    def tensors(name, data, extra=None):
        case(f"safetensors: {name}", "check --no-kernel -- --model-path $D/m",
             {"m/config.json": json.dumps(CONFIG), "m/model.safetensors": data, **(extra or {})})
    tensors("tensors", struct.pack("<Q", len(header)) + header)
    tensors("nested", struct.pack("<Q", n(900_000)) + b'{"a":' * n(180_000))
    tensors("lists", struct.pack("<Q", n(900_000)) + b"[" * n(900_000))
    tensors("blanks", struct.pack("<Q", n(900_000)) + b" " * n(900_000))
    tensors("metadata", struct.pack("<Q", n(900_000)) + (b'{"__metadata__":{' + b",".join(b'"k%d":"v"' % i for i in range(n(60_000))) + b"}}").ljust(n(900_000)))
    tensors("shapes", struct.pack("<Q", n(900_000)) + (b'{"a":{"dtype":"F32","shape":[' + b"1," * n(400_000) + b'1],"data_offsets":[0,4]}}').ljust(n(900_000)))
    tensors("a length beyond", struct.pack("<Q", 2**63) + b"{" * 1000)
    index = {"weight_map": {f"model.layers.{i}.w": f"model-{i % 300:05d}-of-00300.safetensors" for i in range(n(14_000))}}
    case("index.json: tensors", "check --no-kernel -- --model-path $D/m", {"m/config.json": json.dumps(CONFIG),
         "m/model.safetensors.index.json": json.dumps(index)})
    case("index.json: files", "check --no-kernel -- --model-path $D/m", {"m/config.json": json.dumps(CONFIG),
         "m/model.safetensors.index.json": json.dumps({"weight_map": {f"a{i}": f"f{i}.safetensors" for i in range(n(30_000))}})})
    case("index.json: nested", "check --no-kernel -- --model-path $D/m", {"m/config.json": json.dumps(CONFIG),
         "m/model.safetensors.index.json": '{"weight_map":' + "[" * n(900_000)})
    case("index.json: names up", "check --no-kernel -- --model-path $D/m", {"m/config.json": json.dumps(CONFIG),
         "m/model.safetensors.index.json": json.dumps({"weight_map": {f"a{i}": "../" * 20 for i in range(n(10_000))}})})
    for name in ("generation_config.json", "tokenizer_config.json", "hf_quant_config.json", "quant_model_description.json", "adapter_config.json", "params.json"):
        case(f"{name}: keys", "check --no-kernel -- --model-path $D/m", {"m/config.json": json.dumps(CONFIG), "m/" + name:
             "{" + fill(lambda i: f'"model.layers.{i}.w":"FLOAT",') + '"a":"FLOAT"}'})
        case(f"{name}: nested", "check --no-kernel -- --model-path $D/m", {"m/config.json": json.dumps(CONFIG), "m/" + name: '{"a":' * n(150_000)})
    def text(s): return struct.pack("<Q", len(s)) + s
    def number(key, n): return text(key) + struct.pack("<II", 4, n)
    base = [text(b"general.architecture") + struct.pack("<I", 8) + text(b"qwen3"), number(b"qwen3.block_count", 28), number(b"qwen3.context_length", 4096),
            number(b"qwen3.embedding_length", 1024), number(b"qwen3.feed_forward_length", 2048), number(b"qwen3.attention.head_count", 16),
            number(b"qwen3.attention.head_count_kv", 8), number(b"qwen3.attention.key_length", 64)]
    def gguf(name, keys, tensors=0, rest=b""):
        case(f"GGUF: {name}", "check --no-kernel -- --model-path $D/a.gguf",
             {"a.gguf": b"GGUF" + struct.pack("<IQQ", 3, tensors, len(keys)) + b"".join(keys) + rest})
    gguf("keys", base + [number(b"k%d" % i, i) for i in range(n(40_000))])
    gguf("keys that fit", base + [number(b"k%d" % i, i) for i in range(4_000)])
    gguf("tokens", base + [text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, n(90_000)) + text(b"a") * n(90_000)])
    gguf("lists of lists", base + [text(b"a") + struct.pack("<IIQ", 9, 9, n(60_000)) + struct.pack("<IQ", 9, 1) * n(60_000)])
    gguf("tensors", base, n(25_000), b"".join(text(b"blk.%d.w" % i) + struct.pack("<IQQIQ", 2, 2, 2, 0, 0) for i in range(n(25_000))))
    gguf("dimensions", base, 1, text(b"a") + struct.pack("<I", n(100_000)) + struct.pack("<Q", 2) * n(100_000))
    gguf("flags", base + [text(b"a") + struct.pack("<IIQ", 9, 7, n(900_000)) + b"\1" * n(900_000)])
    gguf("numbers by layer", base + [text(b"qwen3.attention.head_count_kv2") + struct.pack("<IIQ", 9, 4, n(200_000)) + struct.pack("<I", 8) * n(200_000)])
    def launches(name, files, model="m", count=200, options=""):
        case(f"launches of one model: {name}", "check --no-kernel $D/a.sh", {**files, "a.sh": "".join(
            f"python -m sglang.launch_server --model-path {model}{'/' * (i % 5 if model == 'm' else 0)} --port {i} {options}\n" for i in range(count))})
    ignored = {"quantization_config": {"quant_method": "fp8", "ignored_layers": [f"model.layers.{i}.mlp" for i in range(n(30_000))]}}
    plain = json.dumps(CONFIG)
    launches("settings", {"m/config.json": json.dumps({**CONFIG, **{f"k{i}": i for i in range(450)}})})
    launches("settings, failing", {"m/config.json": json.dumps({**CONFIG, **{f"k{i}": i for i in range(450)}})}, options="--tp 3")
    launches("ignored layers", {"m/config.json": json.dumps({**CONFIG, **ignored})})
    launches("tensors", {"m/config.json": plain, "m/model.safetensors": struct.pack("<Q", len(header)) + header})
    launches("generation_config.json", {"m/config.json": plain, "m/generation_config.json": "{" + fill(lambda i: f'"k{i}":1,', size=n(900_000)) + '"a":1}'})
    launches("GGUF keys", {"a.gguf": b"GGUF" + struct.pack("<IQQ", 3, 0, len(base) + 4_000) + b"".join(base + [number(b"k%d" % i, i) for i in range(4_000)])}, "a.gguf")
    launches("drafts", {}, "Qwen/Qwen3-8B", 900, "--speculative-algorithm EAGLE --speculative-draft-model-path a/b")
    sound, at = {}, 0
    for i in range(n(9_000)):
        sound[f"model.layers.{i % 4}.self_attn.q_proj.w{i}"] = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [at, at + 8]}
        at += 8
    sound = json.dumps(sound, separators=(",", ":")).encode()
    whole = {"m/config.json": plain, "m/model.safetensors": struct.pack("<Q", len(sound)) + sound + bytes(at)}
    case("safetensors: sound tensors", "check --no-kernel -- --model-path $D/m --tp 3", whole)
    case("safetensors: sound tensors (suggest)", "suggest $D/m", whole)


def batches():
    def row(i, *args): return json.dumps({"id": str(i), "args": ["--model-path", "Qwen/Qwen3-8B", *args]}) + "\n"
    rows = {"equal ones that fail": lambda i: row(1, "--tp", "3"), "different ones that fail": lambda i: row(i, "--tp", "3", "--port", str(i)),
            "sound ones": lambda i: row(i, "--port", str(i)), "equal sound ones": lambda i: row(1), "unknown options": lambda i: row(i, f"--opt{i}", "x"),
            "two faults": lambda i: row(i, "--tp", "3", "--page-size", str(i)), "backends": lambda i: row(i, "--attention-backend", "fa3", "--page-size", str(i)),
            "short ones": lambda i: '{"args":[]}\n', "short equal ids": lambda i: '{"id":1,"args":["--tp"]}\n',
            "overrides": lambda i: row(i, "--json-model-override-args", json.dumps({"num_hidden_layers": i % 1000 + 1})),
            "many models": lambda i: json.dumps({"id": i, "args": ["--model-path", ["Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-30B-A3B"][i % 3],
                                                                   "--tp", str(i % 9 + 1)]}) + "\n",
            "large models": lambda i: json.dumps({"id": i, "args": ["--model-path", "deepseek-ai/DeepSeek-V3", "--tp", "8", "--chunked-prefill-size", str(i + 1)]}) + "\n",
            "configs": lambda i: json.dumps({"id": i, "args": ["--config", "{config}"], "config": f"model-path: Qwen/Qwen3-8B\ntp: {i % 5}\n"}) + "\n",
            "environments": lambda i: json.dumps({"id": i, "args": ["--model-path", "Qwen/Qwen3-8B"], "env": {f"SGLANG_X{i}": "1"}}) + "\n",
            "devices": lambda i: json.dumps({"id": i, "args": ["--model-path", "Qwen/Qwen3-8B"], "device": {"memory_mib": 1000 + i, "count": i % 8 + 1}}) + "\n",
            "no models": lambda i: json.dumps({"id": i, "args": ["--model-path", f"nobody/m{i}"]}) + "\n", "refused": lambda i: row(i, "--tp", "x"),
            "speculative": lambda i: row(i, "--speculative-algorithm", "EAGLE", "--speculative-num-steps", str(i % 9), "--speculative-eagle-topk", "4")}
    for shape, make in rows.items():
        for words in ("check --batch -", "check --batch - --no-fixes", "check --batch - --fixes", "resolve --batch -"):
            case(f"batch: {shape} ({words.replace(' --batch -', '')})", words, given=fill(make))
    line = {"args": ["--model-path", "Qwen/Qwen3-8B"], "id": "a"}
    for name, text in {"arguments": json.dumps({**line, "args": line["args"] + ["--port", "1"] * 4_900}), "variables":
                       json.dumps({**line, "env": {f"A{i}": "x" for i in range(500)}}) + "\n", "a long id": json.dumps({**line, "id": "a" * n(900_000)}),
                       "nested": '{"a":' * n(150_000), "a long config": json.dumps({**line, "args": ["--config", "{config}"], "config": "x: 1\n" * n(120_000)}),
                       "a long override": json.dumps({**line, "args": line["args"] + ["--json-model-override-args", json.dumps({f"k{i}": 1 for i in range(n(60_000))})]})}.items():
        case(f"batch line: {name}", "check --batch -", given=text)
    # Each value is searched for secrets: what begins or ends one, over and over.
    for part in (" ", "\t", "token ", "token=", "--token ", "token :", "a@", "https://", "hf_", "eyJ", "bearer ", "basic+", " -p", "%25", "key=key&", "curl -u a:b "):
        case(f"batch line: a value of {part!r}", "check --batch -", given=json.dumps({**line, "args": [*line["args"], "--watermark-config", fill(part, size=n(900_000))]}))


def options():
    many = {"--set": "A{}=x", "--env": "A{}=x", "--fact": "num_q_heads=16", "--ignore": "PL{:03}", "--select": "PL{:03}", "--require": "model"}
    for option, value in many.items():
        case(f"our own: {option}", "check --no-kernel " + fill(lambda i: f"{option} {value.format(i)} ", size=n(120_000)) + f"-- {MODEL}")
    case("our own: --set in a command", "check --no-kernel --command-file $D/a.sh " + fill(lambda i: f"--set A{i}=x ", size=n(120_000)),
         {"a.sh": fill(lambda i: f"$A{i} ", SERVE + " ", size=n(120_000))})
    case("our own: --env SGLANG", "check --no-kernel " + fill(lambda i: f"--env SGLANG_A{i}=x ", size=n(120_000)) + f"-- {MODEL}")
    case("our own: paths", "check --no-kernel " + fill("$D/a.sh ", size=n(120_000)), {"a.sh": SERVE + "\n"})
    case("our own: one long path", "check --no-kernel " + "a" * n(120_000))
    case("our own: pattern", "check --no-kernel " + "'" + "*/" * n(60_000) + "'")
    case("our own: brackets", "check --no-kernel " + "'$D/" + "[a-" * n(30_000) + "'", {"a.sh": SERVE})
    for name, words in {"unknown options": fill(lambda i: f"--o{i} x ", size=n(120_000)), "short unknown": fill(lambda i: f"--{i % 9}x ", size=n(120_000)),
                        "near options": fill(lambda i: f"--page-siz{i % 9} 1 ", size=n(120_000)), "ports": fill("--port 1 ", size=n(120_000)),
                        "one long option": "--" + "a" * n(120_000), "one long value": "--port " + "1" * n(120_000), "a list": "--cuda-graph-bs " + "1 " * n(50_000),
                        "dashes": "- " * n(50_000), "stray words": "a " * n(50_000), "JSON": "--json-model-override-args '" + "[" * n(120_000) + "'",
                        "keys": "--json-model-override-args '{" + fill(lambda i: f'"k{i}":1,', size=n(110_000)) + "\"a\":1}'",
                        "a graph": "--cuda-graph-max-bs 100000", "abbreviations": fill("--mod x ", size=n(120_000)),
                        "sizes": "--tp 1 --dp 16384 --pp 16384", "a large page": "--page-size 999999999", "requests": "--max-running-requests 999999999",
                        "draft": "--speculative-algorithm EAGLE --speculative-num-steps 999999 --speculative-eagle-topk 999999"}.items():
        for command in ("check --no-kernel", "resolve --all", "memory", "pages --no-kernel", "upgrade --from 0.5.11"):
            case(f"arguments: {name} ({command.split()[0]})", f"{command} -- {MODEL} {few(words)}")
    config = {"lists": "cuda-graph-bs: [" + "1," * 9_000 + "1]\n", "keys": fill(lambda i: f"k{i}: 1\n"), "switches": fill("enable-metrics: true\n"),
              "unknown": fill(lambda i: f"opt{i}: x\n", "", size=n(60_000)), "text": "served-model-name: " + "a" * n(900_000), "nested": "[" * n(900_000),
              "quotes": fill('a: "b"\n'), "null": fill("port: null\n"), "long list": "cuda-graph-bs: [" + "1," * n(200_000) + "1]\n"}
    for name, text in config.items():
        case(f"--config: {name}", f"check --no-kernel -- {MODEL} --config $D/c.yaml", {"c.yaml": text})
    policy = {"ignores": fill(lambda i: f"- {{rule: PL003, path: a{i}, reason: x}}\n", "ignore:\n"), "rules": fill("- PL003\n", "ignore:\n"), "keys":
              fill(lambda i: f"k{i}: 1\n"), "patterns": fill("- {rule: PL003, path: '" + "*a" * 40 + "', reason: x}\n", "ignore:\n"), "nested": "[" * n(900_000)}
    for name, text in policy.items():
        case(f"policy: {name}", f"check --no-kernel --policy $D/p.yaml $D/a.sh", {"p.yaml": text, "a.sh": fill(lambda i: f"{SERVE} --tp 3 --port {i}\n", size=n(20_000))})
    finding = {"rule": "PL003", "key": "a" * 16, "count": 1}
    for name, text in {"findings": json.dumps({"version": 1, "findings": [finding] * n(15_000)}), "nested": "[" * n(900_000), "keys":
                       json.dumps({"version": 1, "findings": {f"k{i}": 1 for i in range(n(60_000))}})}.items():
        case(f"baseline: {name}", "check --no-kernel --baseline $D/b.json $D/a.sh", {"b.json": text, "a.sh": SERVE + " --tp 3\n"})
    for name, text in {"packages": json.dumps({"packages": [{"name": f"p{i}", "version": "1"} for i in range(n(22_000))]}), "nested": "[" * n(900_000),
                       "keys": json.dumps({f"k{i}": 1 for i in range(n(60_000))}), "sglang": json.dumps({"packages": [{"name": "sglang", "version": "0.5.23"}] * n(18_000)})}.items():
        case(f"--facts: {name}", f"check --no-kernel --facts $D/f.json -- {MODEL}", {"f.json": text})
        case(f"--facts: {name} (facts)", "facts --facts $D/f.json", {"f.json": text})
    for name, text in {"exceptions": fill("ValueError: x\n"), "tracebacks": fill('  File "a.py", line 1, in f\n    x\n', "Traceback (most recent call last):\n"),
                       "options": fill(lambda i: f"--option-{i} "), "one line": "ValueError: " + "a " * n(450_000), "one word": "a" * n(900_000),
                       "paths": fill("sglang/srt/server_args.py "), "names": fill("page_size attention_backend "), "quotes": '"' * n(900_000),
                       "messages": fill("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"), "numbers": "1 " * n(450_000),
                       "letters": fill(lambda i: "abcdefghij"[i % 10] + "elf "), "known words": fill("requires is only supported for a the backend with\n"),
                       "warnings": fill("WARNING: Attention backend not specified. Use x.\n"), "nested": "(" * n(900_000)}.items():
        case(f"explain: {name}", "explain -", given=text)
    case("nodes: files", "nodes $D/a.sh", {"a.sh": fill(lambda i: f"{SERVE} --tp 2 --nnodes 2 --node-rank {i} --dist-init-addr 10.0.0.1:5000\n", size=n(120_000))})
    case("suggest: arguments", "suggest Qwen/Qwen3-8B -- " + few(fill("--port 1 ", size=n(120_000))))
    case("suggest: unknown", "suggest " + "a" * n(120_000))
    case("exec: arguments", "exec -- " + few(fill("--port 1 ", SERVE + " --tp 3 ", size=n(120_000))))
    case("explain: a long field", "explain " + "a" * n(120_000))
    case("completions: long", "completions " + "a" * n(120_000))
    case("folders: many files", "check --no-kernel $D/d", {f"d/{i}.sh": f"{SERVE} --tp 3 --port {i}\n" for i in range(900)})
    failing = {"a.sh": fill(lambda i: f"{SERVE} --tp 3 --port {i}\n", size=n(85_000))}
    case("upgrade: launches that fail", "upgrade --from 0.5.11 $D/a.sh", failing)
    case("nodes: launches that fail", "nodes $D/a.sh", failing)
    case("JSON: launches that fail", "check --no-kernel --output json $D/a.sh", failing)
    case("suggest: cards", "suggest Qwen/Qwen3-8B --context 100000000 --device-count 4096")
    settings = " ".join(f"--set A{i}=1" for i in range(512))
    case("our own: settings", f"check --no-kernel {settings} $D/a.sh", {"a.sh": fill("AAAA ", "", "\n" + SERVE + "\n", size=n(500_000))})
    case("our own: patterns", "check --no-kernel " + "'$D/d/*.yaml' " * 300 + "$D/a.sh", {"a.sh": SERVE, **{f"d/{i}.yaml": "a: b\n" for i in range(1000)}})
    case("folders: scripts that run one another", "check --no-kernel $D/d", {f"d/a{i}.sh": "".join(f"bash a{k}.sh\n" for k in range(max(
        0, i - 30), i)) + (SERVE if i == 0 else "") + "\n" for i in range(700)})
    case("folders: files that include one another", "check --no-kernel $D/d", {f"d/c{i}.yaml": "include:\n" + "".join(
        f"- c{k}.yaml\n" for k in range(90)) + f"services:\n  a{i}: {{image: x, command: {SERVE}}}\n" for i in range(90)})
    case("folders: files of many launches", "check --no-kernel $D/d", {f"d/{k}.sh": fill(lambda i: f"{SERVE} --tp 3 --port {1000 + 900 * k + i}\n", size=45_000) for k in range(20)})
    pod = f"kind: Pod\nspec:\n  containers: [{{name: a, command: [{', '.join(SERVE.split())}]}}]\n"
    case("folders: manifests beside a kustomization", "check --no-kernel $D/d", {**{f"d/a{i}.yaml": pod for i in range(900)}, "d/kustomization.yaml": "resources:\n" + fill(lambda i: f"- a{i}.yaml\n", size=n(400_000))})
    case("folders: instances of a unit", "check --no-kernel $D/d", {**{f"d/a@{i}.service": f"[Service]\nExecStart={SERVE} --port %i\n" for i in range(900)},
         **{f"d/a@.service.d/{i}.conf": f"[Service]\nEnvironment=A{i}=%i\n" for i in range(64)}})
    adapter = json.dumps({"peft_type": "LORA", "r": 8, "lora_alpha": 1, "target_modules": [f"a{i}" for i in range(n(60_000))]})
    case("adapters: one by many names", f"check --no-kernel -- {MODEL} --enable-lora --lora-paths " + " ".join(f"n{i}=$D/a" for i in range(1_900)), {"a/adapter_config.json": adapter})
    case("cases: braces", "kernels --cases $D/c", {"c": fill("{a}", "mla_decode ")})
    case("cases: open braces", "kernels --cases $D/c", {"c": fill("{")})
    case("folders: idle files", "check --no-kernel $D/d", {f"d/{i}.yaml": "a: b\n" for i in range(4000)})


def make_cases(size):
    global SIZE
    SIZE = size
    CASES.clear()
    in_file("shell", "a.sh", shell())
    shapes, yaml = manifests()
    in_file("manifest", "a.yaml", shapes)
    in_file("YAML", "a.yaml", yaml)
    for name, text in yaml.items():
        case(f"YAML: {name} (--config)", "check --no-kernel -- --config $D/a.yaml", {"a.yaml": text})
    in_file("Python", "a.py", programs())
    others()
    models()
    batches()
    options()


def run(program, name, folder):
    words, files, given = CASES[name]
    for path, text in files.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
    with open(os.path.join(folder, "given"), "wb") as f:
        f.write(given.encode())
    arguments = split(words, folder)
    usage = SMALL.run([program, *arguments], folder)
    with open(os.path.join(folder, "err"), errors="replace") as f:
        said = f.read(300)
    return {**usage, "name": name, "bytes": sum(map(len, files.values())) + len(given) + len(words), "said": said}


class SmallParent:
    """Starts the programs from a process of its own: what a child holds before it becomes the program counts as its peak."""

    def __init__(self):
        (self.asked, ask), (answer, self.answers) = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(ask)
            os.close(answer)
            with os.fdopen(self.asked) as lines, os.fdopen(self.answers, "w") as out:
                for line in lines:
                    print(json.dumps(self.start(*json.loads(line))), file=out, flush=True)
            os._exit(0)
        self.ask, self.answer = os.fdopen(ask, "w"), os.fdopen(answer)

    @staticmethod
    def start(words, folder):
        child = os.fork()
        if child == 0:
            for at, (name, flags) in enumerate((("given", os.O_RDONLY), ("out", os.O_CREAT | os.O_TRUNC | os.O_WRONLY),
                                                ("err", os.O_CREAT | os.O_TRUNC | os.O_WRONLY))):
                os.dup2(os.open(os.path.join(folder, name), flags, 0o644), at)
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            os.chdir(folder)
            os.execve(words[0], words, {"PATH": os.environ["PATH"], "HOME": folder})
        _, status, usage = os.wait4(child, 0)
        return {"seconds": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024, "status": os.waitstatus_to_exitcode(status)}

    def run(self, words, folder):
        print(json.dumps([words, folder]), file=self.ask, flush=True)
        return json.loads(self.answer.readline())


def split(words, folder):
    """As a shell would: blanks part, single quotes hold together."""
    out = []
    for quoted, plain in re.findall(r"'([^']*)'|([^' ]+)", words):
        out.append((quoted or plain).replace("$D", folder))
    return out


def main():
    global SMALL
    SMALL = SmallParent()  # before anything is held
    program = os.path.abspath(sys.argv[1])
    make_cases(SIZES[0])
    if sys.argv[2:3] == ["--dump"]:
        make_cases(int(sys.argv[5]) if len(sys.argv) > 5 else SIZES[0])
        words, files, given = CASES[sys.argv[3]]
        for path, text in {**files, "given": given}.items():
            full = os.path.join(sys.argv[4], path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as f:
                f.write(text if isinstance(text, bytes) else text.encode())
        print(" ".join(split(words, sys.argv[4]))[:2000])
        return
    mode = sys.argv[2] if len(sys.argv) > 2 else ""
    if mode not in ("--all", "--write"):
        return check(program)
    pattern = sys.argv[3] if len(sys.argv) > 3 else ""
    rows = dearest(program, lambda name: re.search(pattern, name) and not (mode == "--write" and is_many(name)))
    if mode == "--write":
        return write(program, rows)
    for r in rows:
        print(f"{r['seconds']:6.2f} s {r['mib']:6.0f} MiB  {r['status']:3}  {r['size']:8}  {r['name']}  | {r['said'][:90]!r}")
    print(len(rows), "inputs")


def cost(row):
    return max(row["seconds"] / SECONDS, row["mib"] / MIB)


def dearest(program, wanted):
    """Each input at the size that costs most."""
    rows, last = {}, {}
    for size in SIZES:
        make_cases(size)
        for name in filter(wanted, CASES):
            row = {**measured(program, name), "size": size}
            smaller = last.get(name) != row["bytes"]  # some have one size
            last[name] = row["bytes"]
            if name not in rows or (smaller and cost(row) > cost(rows[name])):
                rows[name] = row
    return sorted(rows.values(), key=cost, reverse=True)


def is_many(name):
    """A batch of thousands of launches costs what they cost: its lines are inputs of their own."""
    return name.startswith("batch: ")


def measured(program, name):
    with tempfile.TemporaryDirectory() as folder:
        return run(program, name, folder)


def hardening(program):
    def says(options):
        return subprocess.run(["readelf", "-W", *options, program], capture_output=True, text=True, check=True).stdout
    segments, dynamic, symbols = says(["-l"]), says(["-d"]), says(["--dyn-syms"])
    return {"position-independent": "DYN (Position-Independent" in says(["-h"]), "RELRO": "GNU_RELRO" in segments, "bound at start": "BIND_NOW" in dynamic,
            "stack canary": "__stack_chk_fail" in symbols, "fortified": re.search(r"__\w+_chk\b(?<!stack_chk)", symbols.replace("__stack_chk_fail", "")) is not None,
            "stack not executable": re.search(r"GNU_STACK +[0-9a-fx ]+ RW ", segments) is not None, "no writable code": "RWE" not in segments}


def kernel_cases(program):
    """What cases within the limit take, where a device runs them: compiled before, as all but the first run of a shape is."""
    lines = ["", "A kernel case is counted before anything of it is made: the memory that is held for it, 512 MiB at most, and steps of about a",
             "nanosecond, 4 billion at most. A line that comes to more is refused with status 2; `--large-cases` beside `--case` or",
             "`--conformance` lets it have 6 GiB and 24 billion steps, which some rows of published tests need. What a launch of a known model plans is",
             "within the ordinary limit. Of lines just within it, on a CPU:", "", "| case | seconds | MiB |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "given"), "w").close()
        for case_line in KERNEL_CASES:
            for _ in range(2):
                r = SMALL.run([program, "check", "--case", case_line], folder)
            lines.append(f"| `{case_line}` | " + (f"{r['seconds']:.1f} | {r['mib']:.0f} |" if r["status"] == 0 else f"not run: status {r['status']} | |"))
    return lines


def write(program, rows):
    lines = ["# What inputs cost, and how the program is linked", "", "<!-- Written by tests/worst_inputs.py PROGRAM --write; do not edit. -->", "",
             f"The dearest 20 of {len(rows)} inputs of up to {SIZES[0]:,} bytes (arguments: 120,000), each at that size, a half, a quarter and an eighth",
             "of it, where readers refuse less, and made to cost as much as it can: processor time on",
             "one core of a small virtual machine under load, and the most memory held. The promise is a second and 200 MB; rows above it do not hold it yet.",
             "A batch of thousands of launches is left out: each of its lines costs what that launch costs.", "",
             "| input | command | size | seconds | MiB | exit status |", "|---|---|---|---|---|---|"]
    for r in rows[:20]:
        command = CASES[r["name"]][0]
        lines.append(f"| {r['name']} | `{command if len(command) < 60 else command[:50] + '…'}` | {r['size']:,} | {r['seconds']:.2f} | {r['mib']:.0f} | {r['status']} |")
    lines += ["", "Memory that a system does not give is told, with status 3. Where it gives less than the program itself takes, 4 MB of data (`ulimit -d`)",
              "or 28 MB of addresses (`ulimit -v`), Linux ends it by SIGSEGV before its first instruction, as it does any program."]
    lines += kernel_cases(program)
    lines += ["", "The release binary, as `readelf` tells:", "", "| property | |", "|---|---|"]
    lines += [f"| {name} | {'yes' if holds else 'no'} |" for name, holds in hardening(program).items()]
    with open(PAGE, "w") as f:
        f.write("\n".join(lines) + "\n")


def check(program):
    """The page's worst, each no dearer than promised, or than the page says of those that are; and how it is linked."""
    with open(PAGE) as f:
        page = f.read()
    table = re.findall(r"^\| (.+?) \| `.*` \|(?: ([\d,]+) \|)? ([\d.]+) \| (\d+) \| (\d+) \|$", page, re.M)
    bad = [] if len(table) == 20 else [f"{len(table)} rows in {PAGE}"]
    for name, size, seconds, mib, status in sorted(table, key=lambda row: row[1]):
        size = int(size.replace(",", "") or SIZES[0])
        if size != SIZE:
            make_cases(size)
        most, memory = SLOWER * max(SECONDS, float(seconds)), max(MIB, 1.25 * float(mib))
        for _ in range(3):
            r = measured(program, name)
            if r["seconds"] <= most:
                break
        if r["seconds"] > most or r["mib"] > memory or r["status"] != int(status):
            bad.append(f"{name}: {r['seconds']:.2f} s, {r['mib']:.0f} MiB, status {r['status']}; {most:.1f} s, {memory:.0f} MiB, {status} expected")
    bad += [f"{name}: {'yes' if holds else 'no'}, which {PAGE} does not say" for name, holds in hardening(program).items()
            if f"| {name} | {'yes' if holds else 'no'} |" not in page]
    print("\n".join(bad) or f"{len(table)} inputs and the linking are as {PAGE} says")
    sys.exit(bool(bad))

main()
