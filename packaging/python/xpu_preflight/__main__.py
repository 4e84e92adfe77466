"""`python -m xpu_preflight …` is `xpu-preflight …`."""
import os
import sys

from . import NoReport, find_program

try:
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])
except (NoReport, OSError) as error:
    sys.exit(f"xpu-preflight: {error}")
