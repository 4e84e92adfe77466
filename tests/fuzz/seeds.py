"""Seeds of the fuzz targets.

  seeds.py FOLDER                 of every target, a folder each: out of what the repository's tests hold already, and what is kept
  seeds.py --made TARGET FOLDER   those out of the tests' own files alone
  seeds.py --unpack TARGET FOLDER those that are kept in tests/fuzz/corpus
  seeds.py --keep TARGET FOLDER   keeps what lies in FOLDER and is not made, the shortest first, as far as there is room

What is kept stands in one file a target, tests/fuzz/corpus/TARGET.txt, an input a line, escaped as Python does: a thousand
files of a few bytes would cost git and a checkout more than what they hold, and a line can be read in a review.
"""

import argparse
import ast
import gzip
import json
import pathlib
import re
import struct
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
RELEASES = (ROOT / "configs/releases.txt").read_text().split()


def launch_files():
    """The shapes of files that launches are kept in, each behind the byte that picks its reader."""
    names = {"dockerfile": 2, "compose": 3, "kubernetes": 4, "unit": 5, "makefile": 6, "markdown": 7, "python": 8, "json": 9,
             "nomad": 10, "quadlet": 11, "gitlab": 12, "notebook": 13, "ansible": 14, "procfile": 15, "restructured": 16, "log": 17}
    for path in sorted((TESTS / "data/sources").glob("*.txt")):
        for shape in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
            head, _, rest = shape.partition("\n")
            kind = next((byte for name, byte in names.items() if name in head.lower()), 1)
            yield bytes([kind]) + rest.split("\n--- expects")[0].encode()


def words():
    """Words of the whole program: rows of the bad inputs that need no shell."""
    for line in (TESTS / "data/bad_inputs.txt").read_text().splitlines():
        command = line.rpartition(" | ")[2]
        if not command.startswith("xpu-preflight ") or re.search(r"[|<>$`'\"\\;&]", command):
            continue
        yield "\n".join(command.split()[1:]).encode() + b"\n\n"
    for release in RELEASES:
        for extra in ("--attention-backend\nintel_xpu\n--page-size\n32", "--tp\n2\n--dp\n2\n--enable-dp-attention", "--speculative-algorithm\nEAGLE"):
            yield f"check\n--sglang-version\n{release}\n--\n--model-path\nQwen/Qwen3-8B\n{extra}\n".encode()
        yield f"resolve\n--sglang-version\n{release}\n--\n--model-path\nDIR\n\n".encode() + b'{"model_type": "qwen3"}'
    for shape in launch_files():
        yield b"launches\nFILE\n\n" + shape[1:]


def recorded(release):
    """The head of a file of recorded launches, which holds their models, and the launches."""
    with gzip.open(TESTS / f"parity/{release}.jsonl.gz", "rt") as rows:
        head = json.loads(next(rows))
        return head, [json.loads(row) for row in rows]


def configurations():
    for path in sorted((TESTS / "data/models").glob("*/config.json")):
        yield path.read_bytes()
    for config in recorded(RELEASES[-1])[0]["models"].values():
        yield json.dumps(config).encode()


def case_lines():
    for path in sorted((ROOT / "configs/cases").rglob("*.txt")):
        lines = path.read_bytes().splitlines()
        for at in range(0, len(lines), 8):
            yield b"\n".join(lines[at : at + 8])


def batches():
    for release in RELEASES[::3]:
        for case in recorded(release)[1][:40]:
            yield json.dumps({key: case[key] for key in ("id", "args", "env", "device") if key in case}).encode()


def weight_headers():
    def safetensors(tensors, size):
        header = json.dumps(tensors).encode()
        return b"\x00" + struct.pack("<Q", len(header)) + header + b"\0" * size

    yield safetensors({"a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}, 12)
    yield safetensors({"__metadata__": {"format": "pt"}, "w": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, 2)
    yield safetensors({}, 0)
    yield b"\x01" + json.dumps({"metadata": {"total_size": 4}, "weight_map": {"a": "model-1.safetensors"}}).encode()
    text = lambda s: struct.pack("<Q", len(s)) + s
    pairs = text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama") + text(b"llama.block_count") + struct.pack("<II", 4, 2)
    tensor = text(b"token_embd.weight") + struct.pack("<IQQIQ", 2, 32, 2, 0, 0)
    yield b"\x02GGUF" + struct.pack("<IQQ", 3, 1, 2) + pairs + tensor + b"\0" * 288


def policies():
    """Files of a project, comments and baselines; the first line of each is a pattern, too."""
    yield b"release: 0.5.23\nselect: [PG, PL]\nseverities: {PL003: warning}\n"
    yield b"ignores:\n- {rule: PL003, path: 'deploy/*.sh', reason: known, until: 2027-01-31}\n"
    yield b"*/a?c*\n# xpu-preflight: ignore=PL003,PG a reason\npython -m sglang.launch_server --tp 3\n"
    yield b'{"baseline": 1, "findings": [{"rule": "PL003", "file": "a.sh", "launch": "", "message": "m", "count": 2}]}'


def facts_files():
    """What `facts --format json` prints, and what people write by hand."""
    yield b'{"device": {"name": "Intel(R) Arc(TM) Pro B60 Graphics", "count": 4, "memory_mib": 24480, "has_fp64": true}}'
    yield b'{"release": {"value": "0.5.20", "origin": "package", "place": "x"}, "host": {"memory_mib": 65536}, "notes": ["a"]}'
    yield b'{"facts": {"packages": [{"name": "torch", "version": "2.9.0+xpu"}], "environment": {"value": "/opt/venv"}}}'
    yield b'MemTotal:       65836728 kB\n'


SEEDS = {
    "facts_file_fuzz": facts_files,
    "launch_file_fuzz": launch_files,
    "shell_fuzz": lambda: (seed[1:] for seed in launch_files()),
    "program_fuzz": words,
    "config_json_fuzz": configurations,
    "case_lines_fuzz": case_lines,
    "batch_fuzz": batches,
    "weight_headers_fuzz": weight_headers,
    "yaml_fuzz": lambda: (seed[1:] for seed in launch_files() if seed[0] in (3, 4)),
    "json_fuzz": configurations,
    "policy_fuzz": policies,
    "args_fuzz": lambda: (bytes([n % len(RELEASES)]) + b"--model-path\nm\n" + w.rpartition(b"--\n")[2] for n, w in enumerate(words())),
}


CORPUS = TESTS / "fuzz/corpus"
# So that all of them stay a small part of a checkout.
MOST_BYTES = 24_000  # of a file
LONGEST = 768  # of an input
MOST_SEEDS = 256  # a target reads each of them before it makes any input of its own


def made(target):
    """As many as there may be, from all over the files that they are made of."""
    seeds = list(SEEDS[target]())
    return seeds[:: -(-len(seeds) // MOST_SEEDS)]


def kept(target):
    path = CORPUS / f"{target}.txt"
    lines = path.read_text("ascii").splitlines() if path.exists() else []
    return [ast.literal_eval(line) for line in lines if line.startswith("b")]


def write(inputs, folder, name):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(inputs):
        (folder / f"{name}{number}").write_bytes(data)


def keep(target, folder):
    known = set(made(target))
    found = {path.read_bytes() for path in pathlib.Path(folder).iterdir()} - known
    lines, size = [], 0
    for data in sorted(found, key=lambda data: (len(data), data)):
        line = repr(data)
        if len(data) > LONGEST or size + len(line) + 1 > MOST_BYTES:
            continue
        lines.append(line)
        size += len(line) + 1
    CORPUS.mkdir(exist_ok=True)
    (CORPUS / f"{target}.txt").write_text("".join(line + "\n" for line in sorted(lines)), "ascii")
    print(f"{target}: {len(lines)} of {len(found)} inputs kept, {size} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--made", metavar="TARGET", choices=SEEDS)
    parser.add_argument("--unpack", metavar="TARGET", choices=SEEDS)
    parser.add_argument("--keep", metavar="TARGET", choices=SEEDS)
    parser.add_argument("folder")
    asked = parser.parse_args()
    if asked.made:
        write(made(asked.made), asked.folder, "seed")
    elif asked.unpack:
        write(kept(asked.unpack), asked.folder, "kept")
    elif asked.keep:
        keep(asked.keep, asked.folder)
    else:
        for target in SEEDS:
            write(made(target), f"{asked.folder}/{target}", "seed")
            write(kept(target), f"{asked.folder}/{target}", "kept")


if __name__ == "__main__":
    main()
