#!/usr/bin/env python3
"""Stand-ins for the C library to link against, so that a program built here starts on an older one, too.

  make_stubs.py FOLDER 2.28 COMPILER

A program asks for the version of each symbol that was the default where it was linked. The C library still holds the
older ones; the stand-ins have the same names, with the newest version up to the given release as the default, and no
code. What came later is missing, so that the linker names it: src/base/older_glibc.cpp answers for those.
FOLDER then stands first in the linker's search path (-L). Ends with 3, and writes nothing, on a C library that this was not
tried with: before 2.34 programs still brought the calls of their constructors along; since 2.38 headers ask for names that
are not answered.
"""
import pathlib
import re
import subprocess
import sys

COMPILER = sys.argv[3]
SYMBOL = re.compile(r"^\s*\d+: ([0-9a-f]+)\s+(\d+)\s+(FUNC|IFUNC|OBJECT)\s+(GLOBAL|WEAK)\s+DEFAULT\s+\d+ ([A-Za-z_]\w*)@@?(GLIBC_[0-9.]+)\s*$")
# Libraries of their own until 2.34; what they held is in libc.so.6 since, which has the symbols under both names.
EMPTY = {"libpthread.so.0": "pthread", "libdl.so.2": "dl", "librt.so.1": "rt"}


def number(version):
    return tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def path_of(library):
    return subprocess.run([COMPILER, f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout.strip()


def symbols(library, limit):
    """{name: (version, kind, size, address, binding)} with the newest version up to the limit."""
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", path_of(library)], check=True, capture_output=True, text=True).stdout
    found = {}
    for match in filter(None, map(SYMBOL.match, listed.splitlines())):
        address, size, kind, binding, name, version = match.groups()
        if number(version) <= limit and (name not in found or number(found[name][0]) < number(version)):
            found[name] = (version, kind, int(size), address, binding)
    return found


def assembly(found):
    """Variables under several names (environ, __environ) stay one, the weak ones weak, by which linkers know them for
    aliases: a program may hold a copy of its own, which the C library has to find by each name."""
    places = {}
    for name, (version, kind, size, address, binding) in sorted(found.items()):
        key = (kind == "OBJECT", address if kind == "OBJECT" else name)
        places.setdefault(key, []).append((name, version, size, binding))
    lines = []
    for index, ((is_object, _), names) in enumerate(sorted(places.items())):
        size = max(size for _, _, size, _ in names) if is_object else 1
        lines += [".bss" if is_object else ".text", ".balign 32"]
        for alias, (name, version, own_size, binding) in enumerate(names):
            label = f"stub_{index}_{alias}"
            lines += [f".{'weak' if binding == 'WEAK' else 'globl'} {label}", f".type {label}, @{'object' if is_object else 'function'}", f".size {label}, {own_size}",
                      f"{label}:", f".symver {label}, {name}@@{version}"]
        lines.append(f".skip {max(size, 1)}")
    return lines


def write_library(folder, library, found):
    lines, versions = assembly(found), sorted({row[0] for row in found.values()}, key=number)
    lines.append('.section .note.GNU-stack,"",@progbits')
    (folder / f"{library}.s").write_text("\n".join(lines) + "\n")
    (folder / f"{library}.map").write_text("".join(f"{version} {{ }};\n" for version in versions) + "HIDDEN { local: *; };\n")
    subprocess.run([COMPILER, "-shared", "-nostdlib", "-fuse-ld=bfd", f"-Wl,-soname,{library}", f"-Wl,--version-script={folder / (library + '.map')}",
                    "-o", str(folder / library), str(folder / f"{library}.s")], check=True)


def main():
    newest = max(number(version) for version, *_ in symbols("libc.so.6", (2, 999)).values())
    if not (2, 34) <= newest < (2, 38):
        sys.exit(3)
    folder, limit = pathlib.Path(sys.argv[1]), number(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for library in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"):
        write_library(folder, library, symbols(library, limit))
    for library, name in EMPTY.items():
        write_library(folder, library, {})
        (folder / f"lib{name}.so").unlink(missing_ok=True)
        (folder / f"lib{name}.so").symlink_to(library)
    (folder / "libm.so").unlink(missing_ok=True)
    (folder / "libm.so").symlink_to("libm.so.6")
    parts = f"{folder / 'libc.so.6'} {path_of('libc_nonshared.a')} AS_NEEDED ( {folder / 'ld-linux-x86-64.so.2'} )"
    (folder / "libc.so").write_text(f"OUTPUT_FORMAT(elf64-x86-64)\nGROUP ( {parts} )\n")


main()
