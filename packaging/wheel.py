#!/usr/bin/env python3
"""A wheel of an installed tree: the program as a script, the Python module, and metadata. Needs no package.

  wheel.py TREE OUT_FOLDER      TREE is what `cmake --install` wrote; prints the wheel's path

The same tree gives the same bytes. The platform tag is that of the program's C library (OLDEST_GLIBC); `./dev package`
lets auditwheel judge it.
"""
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
EPOCH = (1980, 1, 1, 0, 0, 0)


def version():
    return re.search(r"project\(xpu-preflight VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def platform_tag(program):
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", str(program)], check=True, capture_output=True, text=True).stdout
    newest = max(int(minor) for minor in re.findall(r"@GLIBC_2\.(\d+)", listed))
    return f"manylinux_2_{max(newest, 17)}_{platform.machine()}"


def metadata():
    return f"""Metadata-Version: 2.1
Name: xpu-preflight
Version: {version()}
Summary: Says what SGLang will do with its launch arguments on an Intel GPU, before the launch
License: Apache-2.0
Keywords: sglang,intel,xpu,llm,gpu,lint
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

""" + (ROOT / "README.md").read_text()


def contents(tree):
    """(name in the wheel, bytes, is a program)"""
    stem = f"xpu_preflight-{version()}"
    tag = f"py3-none-{platform_tag(tree / 'bin/xpu-preflight')}"
    for source in sorted((HERE / "python/xpu_preflight").iterdir()):
        if source.suffix == ".py" or source.name == "py.typed":
            yield f"xpu_preflight/{source.name}", source.read_bytes(), False
    yield f"{stem}.data/scripts/xpu-preflight", (tree / "bin/xpu-preflight").read_bytes(), True
    share = tree / "share"
    for part in ("man", "bash-completion", "zsh", "fish"):
        for source in sorted((share / part).rglob("*")):
            if source.is_file():
                yield f"{stem}.data/data/share/{source.relative_to(share)}", source.read_bytes(), False
    for name in ("LICENSE", "THIRD_PARTY_LICENSES"):
        yield f"{stem}.dist-info/{name}", (share / "doc/xpu-preflight" / name).read_bytes(), False
    yield f"{stem}.dist-info/METADATA", metadata().encode(), False
    yield f"{stem}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main():
    tree, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"xpu_preflight-{version()}-py3-none-{platform_tag(tree / 'bin/xpu-preflight')}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, data, is_program=False):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, data)

        for name, data, is_program in contents(tree):
            add(name, data, is_program)
            record.append(f"{name},sha256={digest(data)},{len(data)}")
        name = f"xpu_preflight-{version()}.dist-info/RECORD"
        add(name, "\n".join([*record, f"{name},,", ""]).encode())
    print(wheel)


if __name__ == "__main__":
    main()
