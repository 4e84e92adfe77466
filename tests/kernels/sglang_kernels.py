"""One row of docs/sglang-kernels.md: what the kernels of an installed SGLang do with a few of our cases.

  sglang_kernels.py TOOL PYTHON     PYTHON holds torch, triton and sglang (PYTHONPATH may name another sglang)
"""
import json
import subprocess
import sys

CASES = {
    "grouped decode": "paged_decode --heads 8 --kv-heads 2 --head-dim 64 --page 16 --cache-seqlens 1,16,41 --inputs drift",
    "decode, sinks, softcap": "paged_decode --heads 4 --kv-heads 2 --head-dim 64 --page 16 --cache-seqlens 5,41 --softcap 30 --sinks",
    "decode, a request of length 0": "paged_decode --heads 4 --kv-heads 4 --head-dim 64 --page 16 --cache-seqlens 0,15",
    "latent decode": "mla_decode --heads 4 --page 16 --cache-seqlens 5,41",
    "merge": "merge_state --tokens 4 --heads 2 --head-dim 64 --empty 0",
    "merge, empty sides": "merge_state --tokens 4 --heads 2 --head-dim 64 --empty 10",
    "merge, a side of zeros": "merge_state --tokens 4 --heads 2 --head-dim 64 --empty 10 --empty-zeros",
    "token indices": "kv_indices --cache-seqlens 5,41,2",
    "delta rule, one token": "gated_delta_step --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,1,1",
    "delta rule, step": "gated_delta_step --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,3,2 --padded 1",
    "delta rule, chunks": "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 32 --query-lens 65,5 --l2norm",
}


def main(tool, python):
    release = None
    for name, line in CASES.items():
        run = subprocess.run([tool, "check", "--format", "json", "--kernel-from", "python:" + python, "--case", line],
                             capture_output=True, text=True)
        peer = json.loads(run.stdout)["peer_kernel"]
        release = release or peer.get("versions", {}).get("sglang", "?")
        case = (peer.get("cases") or [{"verdict": "skipped", "reason": ""}])[0]
        print(f"{release} | {name} | {case['verdict']} | {case['reason'] or peer['reason']}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
