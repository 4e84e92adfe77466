#!/usr/bin/env python3
"""Includes follow the order of rooms that ARCHITECTURE.md states: a room may include itself and those above it in the table.

  include_order.py ROOT            fails on an include against the order, and on a room the table does not list
  include_order.py ROOT --count    prints how many includes run between rooms, by direction
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| `([a-z/]+)/` \|")
INCLUDE = re.compile(r'^\s*#\s*include "(?:src|include)/([^"]+)"|^\s*#\s*include "preflight/[^"]+"')


def rooms_in_order(root):
    """The rooms of ARCHITECTURE.md's table, lowest first."""
    rooms = [m.group(1) for m in map(ROW.match, (root / "ARCHITECTURE.md").read_text().splitlines()) if m]
    if not rooms or len(set(rooms)) != len(rooms):
        sys.exit("ARCHITECTURE.md lists no rooms, or one of them twice")
    return rooms


def room_of(path):
    return path.split("/")[0] if "/" in path else path


def main():
    root = pathlib.Path(sys.argv[1])
    rooms = rooms_in_order(root)
    faults, down, up = [], 0, 0
    for source in sorted((root / "src").rglob("*")):
        if source.suffix not in (".h", ".cpp"):
            continue
        inside = source.relative_to(root / "src").as_posix()
        own = room_of(inside)
        if inside == "main.cpp":
            continue
        if own not in rooms:
            faults.append(f"{source.relative_to(root)}: the room {own} is not in ARCHITECTURE.md")
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or match.group(1) is None:
                continue
            other = room_of(match.group(1))
            if other == own:
                continue
            if other in rooms and rooms.index(other) < rooms.index(own):
                down += 1
                continue
            up += 1
            faults.append(f"{source.relative_to(root)}:{number}: {own} includes {match.group(1)}, which stands above it")
    if "--count" in sys.argv:
        print(f"{down} includes down, {up} up")
        return
    if down == 0:
        faults.append("no include between rooms was found: the test looks in the wrong place")
    print("\n".join(faults) or f"{down} includes between {len(rooms)} rooms follow the order")
    sys.exit(1 if faults else 0)


main()
