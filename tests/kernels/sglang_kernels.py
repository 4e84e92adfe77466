"""What the kernels of an installed SGLang do with a few of our cases: the rows of docs/sglang-kernels.md, and whether they are
what that page says. Ends with 1 where one is not.

  sglang_kernels.py TOOL PYTHON     PYTHON holds torch, triton and sglang (PYTHONPATH may name another sglang)
"""
import json
import re
import subprocess
import sys

PASS, NAN = ("pass", ""), ("fail", "is nan, expected")
# The check of a draft in 0.5.17 to 0.5.20: its form for Intel GPUs does not hand an argument on to its kernel.
DRAFT = [((11, 16), PASS), ((17, 20), ("error", "TypeError")), ((21, 99), PASS)]
# The table of local attention: until 0.5.21 in a module that wants all of the server.
LOCAL = [((11, 21), ("skipped", "cannot be imported")), ((22, 99), ("fail", "local_page_table[0,0] is"))]
LOCAL_WHOLE = [((11, 21), ("skipped", "cannot be imported")), ((22, 99), PASS)]

# Name, case line, what is expected: of all releases, or of those of the third number from .. to.
CASES = [
    ("grouped decode", "paged_decode --heads 8 --kv-heads 2 --head-dim 64 --page 16 --cache-seqlens 1,16,41 --inputs drift", PASS),
    ("decode, sinks, softcap",
     "paged_decode --heads 4 --kv-heads 2 --head-dim 64 --page 16 --cache-seqlens 5,41 --softcap 30 --sinks", PASS),
    ("decode, a request of length 0", "paged_decode --heads 4 --kv-heads 4 --head-dim 64 --page 16 --cache-seqlens 0,15", NAN),
    ("latent decode", "mla_decode --heads 4 --page 16 --cache-seqlens 5,41", PASS),
    ("merge", "merge_state --tokens 4 --heads 2 --head-dim 64 --empty 0", PASS),
    ("merge, empty sides", "merge_state --tokens 4 --heads 2 --head-dim 64 --empty 10", NAN),
    ("merge, a side of zeros", "merge_state --tokens 4 --heads 2 --head-dim 64 --empty 10 --empty-zeros", PASS),
    ("token indices", "kv_indices --cache-seqlens 5,41,2", PASS),
    ("delta rule, one token", "gated_delta_step --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,1,1", PASS),
    ("delta rule, step", "gated_delta_step --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,3,2 --padded 1", DRAFT),
    ("delta rule, chunks", "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 32 --query-lens 65,5 --l2norm", PASS),
    ("local attention's table, cut", "local_decode --heads 4 --kv-heads 2 --page 128 --chunk 8192 --cache-seqlens 320,129", LOCAL),
    ("local attention's table", "local_decode --heads 4 --kv-heads 2 --chunk 64 --cache-seqlens 320,129", LOCAL_WHOLE),
]


def expected_in(release, rows):
    if isinstance(rows, tuple):
        return rows
    minor = int(re.match(r"0\.5\.(\d+)", release).group(1))
    return next(wanted for (first, last), wanted in rows if first <= minor <= last)


def run(tool, python, line):
    """(release, word, reason); the word of a case that never began is skipped."""
    done = subprocess.run([tool, "check", "--format", "json", "--kernel-from", "python:" + python, "--case", line],
                          capture_output=True, text=True)
    peer = json.loads(done.stdout)["peer_kernel"]
    case = (peer.get("cases") or [{"verdict": "skipped", "reason": ""}])[0]
    return peer.get("versions", {}).get("sglang", ""), case["verdict"], case["reason"] or peer["reason"]


def main(tool, python):
    wrong = 0
    for name, line, rows in CASES:
        release, word, reason = run(tool, python, line)
        if not release:
            print(f"NOT RUN: {reason}")
            return 1
        wanted, words = expected_in(release, rows)
        as_said = word == wanted and words in reason
        wrong += not as_said
        print(f"{release} | {name} | {word} | {reason}" + ("" if as_said else f" | EXPECTED {wanted} {words}"), flush=True)
    print(f"{len(CASES) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
