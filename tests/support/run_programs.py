"""Runs Python programs as `timeout 10 python FILE` would, in a fork each: an interpreter's start takes longer than most.

  LAUNCHES of each is FOLDER/NAME.out; nothing of what they print is kept.

  run_programs.py FOLDER NAME.py…
"""

# What these import, too, is there in each program; a submodule that only its own import binds is not among them.
import argparse, collections, dataclasses, functools, itertools, json, pathlib, re, shlex, shutil, subprocess, tempfile, typing  # noqa: E401,F401
import os
import signal
import sys
import types

SECONDS = 10


def become(folder, name):
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.environ["LAUNCHES"] = f"{folder}/{name.removesuffix('.py')}.out"
    sys.argv = [name]
    sys.path[0] = folder
    signal.alarm(SECONDS)  # whose default action ends the process
    module = types.ModuleType("__main__")
    module.__file__ = name
    sys.modules["__main__"] = module
    with open(name, "rb") as file:
        code = compile(file.read(), name, "exec")
    exec(code, module.__dict__)


def main():
    folder, *names = sys.argv[1:]
    os.chdir(folder)
    for name in names:
        child = os.fork()
        if child == 0:
            return become(folder, name)
        os.waitpid(child, 0)


main()
