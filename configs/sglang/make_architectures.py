#!/usr/bin/env python3
"""Write usual_architectures.txt: run make_architectures.py OUT.txt in an interpreter with SGLang and transformers.

A line of the result is a model type of transformers and the architecture that checkpoints of it name in config.json,
as far as SGLang implements that architecture. Regenerate it when a release is added.
"""
import pathlib
import re
import sys

import sglang
import transformers.models.auto.modeling_auto as auto


def implemented():
    names = set()
    for file in pathlib.Path(sglang.__path__[0], "srt", "models").glob("*.py"):
        entry = re.search(r"^EntryClass\s*=\s*(\[[^\]]*\]|\w+)", file.read_text(encoding="utf-8"), re.M)
        if entry:
            names.update(re.findall(r"\w+", entry.group(1)))
    return names


def main():
    known = implemented()
    text = dict(auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    usual = {**auto.MODEL_MAPPING_NAMES, **text, **auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES}
    lines = ["# Model types and the architecture of their checkpoints, as far as SGLang implements it."]
    for model_type in sorted(usual):
        for name in (usual[model_type], text.get(model_type), auto.MODEL_MAPPING_NAMES.get(model_type)):
            if isinstance(name, str) and name in known:
                lines.append(f"{model_type} {name}")
                break
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
