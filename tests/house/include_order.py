#!/usr/bin/env python3
"""Includes follow the order of rooms that ARCHITECTURE.md states: a room may include itself and those above it in the table.

  include_order.py ROOT            fails on an include against the order, on one that hides where it leads, and on a room
                                   the table does not list
  include_order.py ROOT --count    prints how many includes run between rooms, by direction
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| `([a-z/]+)/` \|")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<((?:src|preflight|\.|[^>]*\.\.)[^>]*)>)')
# Any other spelling, a macro's name among them, hides where it leads.
PLAIN = re.compile(r'^\s*#\s*include\s*["<]')
DIRECTIVE = re.compile(r"^\s*(?:/\*.*?\*/\s*)*(?:#|%:)\s*(?:/\*.*?\*/\s*)*(?:include|import)")

# What the test is there to find, in a tree of two rooms, `below` before `above`: it fails where it no longer would.
PLANTED = [
    ("src/below/x.cpp", '#include "src/above/y.h"'),
    ("src/below/x.cpp", '  #  include "src/above/y.h"  // why'),
    ("src/below/x.cpp", '#include "../above/y.h"'),
    ("src/below/x.cpp", '#include "y.h"'),
    ("src/below/x.cpp", "#include <src/above/y.h>"),
    ("src/below/x.cpp", '#include "src/below/../above/y.h"'),
    ("src/below/x.cpp", "#include <fmt/../src/above/y.h>"),
    ("src/below/x.cpp", '#include_next "src/above/y.h"'),
    ("src/below/x.cpp", '#import "src/above/y.h"'),
    ("src/below/x.cpp", '#include/**/"src/above/y.h"'),
    ("src/below/x.cpp", '/* x */ #include "src/above/y.h"'),
    ("src/below/x.cpp", '%:include "src/above/y.h"'),
    ("src/below/x.cpp", "#include ABOVE"),
    ("src/unlisted/x.cpp", '#include "src/below/y.h"'),
    ("src/below/x.cpp", '#include "src/unlisted/y.h"'),
    ("include/preflight/x.h", '#include "src/below/y.h"'),
]
SOUND = [
    ("src/above/x.cpp", '#include "src/below/y.h"'),
    ("src/above/x.cpp", '#include "src/above/part/y.h"'),
    ("src/below/x.cpp", '#include "preflight/y.h"'),
    ("src/below/x.cpp", '#include "generated/y.inc"'),
    ("src/below/x.cpp", "#include <vector>"),
    ("src/main.cpp", '#include "src/above/y.h"'),
    ("include/preflight/x.h", '#include "preflight/y.h"'),
]


def rooms_in_order(root):
    """The rooms of ARCHITECTURE.md's table, lowest first."""
    rooms = [m.group(1) for m in map(ROW.match, (root / "ARCHITECTURE.md").read_text().splitlines()) if m]
    if not rooms or len(set(rooms)) != len(rooms):
        sys.exit("ARCHITECTURE.md lists no rooms, or one of them twice")
    return rooms


def direction(path, line, rooms):
    """Where an include leads from that file: "down", "up" or "own", or what is wrong with how it is written."""
    if DIRECTIVE.match(line) and not PLAIN.match(line):
        return f"{line.strip()} hides where it leads"
    match = INCLUDE.match(line)
    if not match:
        return "own"
    included = match.group(1) or match.group(2)
    if ".." in included.split("/"):
        return f"{included} leads out of its room"
    top, _, inside = included.partition("/")
    if match.group(2) or top not in ("src", "preflight", "generated"):
        return f"{included} is not written from the root: \"src/ROOM/FILE\""
    if top != "src" or path == "src/main.cpp":
        return "own"
    other = inside.split("/")[0]
    own = path.split("/")[1] if path.startswith("src/") else ""
    if own and own not in rooms:
        return f"the room {own} is not in ARCHITECTURE.md"
    if own == other:
        return "own"
    return "down" if own and other in rooms and rooms.index(other) < rooms.index(own) else "up"


def self_test():
    rooms = ["below", "above"]
    wrong = [f"the test misses: {p}: {line}" for p, line in PLANTED if direction(p, line, rooms) in ("own", "down")]
    return wrong + [f"the test is wrong about: {p}: {line}" for p, line in SOUND if direction(p, line, rooms) not in ("own", "down")]


def main():
    root = pathlib.Path(sys.argv[1])
    rooms = rooms_in_order(root)
    faults, down, up = self_test(), 0, 0
    files = [p for top in ("src", "include") for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cpp")]
    for file in files:
        path = file.relative_to(root).as_posix()
        if path.startswith("src/") and path != "src/main.cpp" and path.split("/")[1] not in rooms:
            faults.append(f"{path}: its room is not in ARCHITECTURE.md")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            where = direction(path, line, rooms)
            down += where == "down"
            up += where == "up"
            if where == "up":
                where = f"{line.strip()} leads to a room further down in ARCHITECTURE.md's table"
            if where not in ("down", "own"):
                faults.append(f"{path}:{number}: {where}")
    if "--count" in sys.argv:
        print(f"{down} includes down, {up} up")
        return
    if down == 0:
        faults.append("no include between rooms was found: the test looks in the wrong place")
    print("\n".join(faults) or f"{down} includes between {len(rooms)} rooms follow the order")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
