#!/usr/bin/env python3
"""A Debian package of an installed tree. Needs dpkg-deb, and no root.

  deb.py TREE OUT_FOLDER      TREE is what `cmake --install` wrote; prints the package's path

It starts on Debian 10 and Ubuntu 18.10 and later: the program asks for glibc 2.28 and nothing else.
"""
import email.utils
import gzip
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

from wheel import ROOT, platform_tag, version

NAME = "xpu-preflight"
MAINTAINER = "xpu-preflight maintainers <maintainers@xpu-preflight.example>"
DESCRIPTION = """check SGLang launches for Intel GPUs before they start
 Takes the arguments of SGLang's server and says, in milliseconds and without
 Python or a GPU, what SGLang refuses of them, what it changes value by value,
 what will fail later although it is accepted, and whether the decode kernel
 of the launch computes the right thing on the OpenCL device.
 .
 Reads scripts, Dockerfiles, compose files, Kubernetes objects and systemd
 units as they are, and can stand in an image's entry point as a gate."""
# Where Debian has these files, if not where the program's own installation puts them.
MOVED = {"share/zsh/site-functions": "share/zsh/vendor-completions"}
COMPRESSED = ("share/man/", "share/doc/xpu-preflight/changelog")


def date():
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds is None:
        seconds = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], check=True, capture_output=True, text=True).stdout
    return int(seconds)


def changelog():
    """CHANGELOG.md in Debian's form, newest first."""
    out = []
    for section in re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1:]:
        head, _, body = section.partition("\n")
        entries = re.split(r"^- ", body, flags=re.M)[1:]
        wrapped = (textwrap.fill(" ".join(e.split()), 78, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False) for e in entries)
        listed = "\n".join(wrapped)
        out.append(f"{NAME} ({head.split()[0]}) unstable; urgency=medium\n\n{listed}\n\n -- {MAINTAINER}  {email.utils.formatdate(date())}\n")
    return "\n".join(out)


def copyright_text(folder):
    others = pathlib.Path(folder) / "others"
    subprocess.run([sys.executable, str(ROOT / "packaging/third_party.py"), str(others), "--without-common"], check=True)
    own = """xpu-preflight is licensed under the Apache License, version 2.0. On Debian
systems its text is in /usr/share/common-licenses/Apache-2.0.

Copyright: the contributors to xpu-preflight

"""
    return own + others.read_text()


def install_tree(tree, root):
    for source in sorted(tree.rglob("*")):
        name = source.relative_to(tree).as_posix()
        if not source.is_file() or name.startswith("share/doc/"):
            continue
        for old, new in MOVED.items():
            name = name.replace(old, new)
        put(root / "usr" / name, source.read_bytes(), 0o755 if name.startswith("bin/") else 0o644)


def put(path, data, mode=0o644):
    name = path.as_posix()
    if any(part in name for part in COMPRESSED):
        path, data = path.with_name(path.name + ".gz"), gzip.compress(data, 9, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def control(root, architecture):
    size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) // 1024 + 1
    glibc = re.search(r"manylinux_(2)_(\d+)", platform_tag(root / "usr/bin" / NAME))
    return f"""Package: {NAME}
Version: {version()}
Section: utils
Priority: optional
Architecture: {architecture}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Depends: libc6 (>= {glibc[1]}.{glibc[2]})
Recommends: ocl-icd-libopencl1 | libopencl1
Suggests: intel-opencl-icd, pocl-opencl-icd
Description: {DESCRIPTION}
"""


def main():
    tree, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "root"
        install_tree(tree, root)
        documents = root / "usr/share/doc" / NAME
        put(documents / "copyright", copyright_text(scratch).encode())
        put(documents / "changelog", changelog().encode())
        overrides = (ROOT / "packaging/lintian-overrides").read_bytes()
        put(root / "usr/share/lintian/overrides" / NAME, overrides)
        files = sorted(f for f in root.rglob("*") if f.is_file())
        sums = "".join(f"{hashlib.md5(f.read_bytes()).hexdigest()}  {f.relative_to(root)}\n" for f in files)
        text = control(root, architecture)
        put(root / "DEBIAN/md5sums", sums.encode())
        put(root / "DEBIAN/control", text.encode())
        for path in root.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        root.chmod(0o755)
        package = folder / f"{NAME}_{version()}_{architecture}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(package)], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, SOURCE_DATE_EPOCH=str(date())))
    print(package)


main()
