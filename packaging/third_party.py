#!/usr/bin/env python3
"""The licences of what is linked into the program, as the Debian packages it was built from state them.

  third_party.py FILE [--without-common]     without the texts that every Debian system has

A binary carries them along; the sources of this project contain none of that code.
"""
import pathlib
import re
import sys

DOCUMENTS = pathlib.Path("/usr/share/doc")
COMMON = pathlib.Path("/usr/share/common-licenses")
# What is linked or compiled in, and the packages that hold its copyright file, first found.
PARTS = {
    "GNU MP (arithmetic without limits)": ["libgmp-dev"],
    "libuuid": ["uuid-dev"],
    "utf8proc": ["libutf8proc-dev"],
    "{fmt}": ["libfmt-dev"],
    "spdlog": ["libspdlog-dev"],
    "JSON for Modern C++": ["nlohmann-json3-dev"],
    "CLI11": ["libcli11-dev"],
    "toml++": ["libtomlplusplus-dev"],
    "tl::expected": ["libexpected-dev"],
    "OpenCL headers": ["opencl-headers", "opencl-c-headers"],
    "GCC runtime library": ["gcc-12-base", "gcc-13-base", "gcc-14-base", "gcc-15-base"],
}


def main():
    parts, named, missing = [], set(), []
    for name, packages in PARTS.items():
        files = [DOCUMENTS / package / "copyright" for package in packages]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            missing.append(name)
            continue
        text = found.read_text(errors="replace").strip()
        named |= set(re.findall(r"/usr/share/common-licenses/([A-Za-z]+-?[0-9.]*[0-9])", text))
        parts.append(f"{'=' * 100}\n{name}\n{'=' * 100}\n\n{text}\n")
    for name in sorted(named) if "--without-common" not in sys.argv else []:
        if (COMMON / name).is_file():
            parts.append(f"{'=' * 100}\nThe licence {name}\n{'=' * 100}\n\n{(COMMON / name).read_text(errors='replace').strip()}\n")
    head = "Parts of this program that others wrote, each under its own licence.\n"
    if missing:
        head += "Built where no Debian package states the licence of: " + ", ".join(missing) + ".\n"
    pathlib.Path(sys.argv[1]).write_text(head + "\n" + "\n".join(parts))


main()
