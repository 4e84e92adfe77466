#!/usr/bin/env python3
"""Files that comments name are there: named_files.py ROOT

Comments of sources, tests and scripts lead a reader to files of this repository ("Tested by tests/x_test.cpp"). A name
that begins with a folder of it is followed; X, * and {…} stand for many and are left. Names of SGLang's files begin with
none of these folders, but for configs/, of which Python files are SGLang's.
"""
import pathlib
import re
import subprocess
import sys

FOLDERS = "src|tests|include|configs|ocl_kernels|docs|packaging"
NAMED = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./-]*\w\.(?:cpp|h|py|cl|clh|txt|json|jsonl|gz|md|sh)\b")
ELSEWHERE = re.compile(r"^configs/\w+\.py$|^src/(?:sycl|dynamo)/|/[A-Z]+\.|<|/[xy](?:_test)?\.")  # SGLang's, other projects', a pattern


def comments(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text if path.name != "rules.md" else ""
    if path.suffix == ".py":
        return "\n".join(re.findall(r'"""(?:.|\n)*?"""|#(?!include)[^\n]*', text))
    return "\n".join(re.findall(r"//[^\n]*|/\*(?:.|\n)*?\*/", text))


def main():
    root = pathlib.Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
    files = listed if len(listed) > 1 else [str(p.relative_to(root)) for f in FOLDERS.split("|") for p in (root / f).rglob("*")]
    asked = [f for f in files if f.endswith((".cpp", ".h", ".py", ".cl", ".clh", ".md")) and (root / f).is_file()]
    named = [(f, name) for f in asked for name in NAMED.findall(comments(root / f)) if not ELSEWHERE.search(name)]
    gone = [(f, name) for f, name in named if not (root / name).exists()]
    for file, name in gone:
        print(f"{file} names {name}, which is not there")
    assert len(named) > 300, "comments are read"
    print(f"{len(named)} files named in comments, {len(gone)} of them not there")
    sys.exit(1 if gone else 0)


if __name__ == "__main__":
    main()
