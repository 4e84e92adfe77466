#!/usr/bin/env python3
"""Completions and the manual page, tried where they are used.

  completions_test.py PROGRAM words     they name every command, option and value, and nothing else
  completions_test.py PROGRAM bash|zsh  words are typed and completed with the tab key in that shell
  completions_test.py PROGRAM fish      its own `complete` is asked
  completions_test.py PROGRAM manual    groff finds nothing to warn about, and `man` shows it

Ends with 77 where the shell or groff is not installed, or no terminal can be had: ctest then says that the test was skipped.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

SKIPPED = 77
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())


def printed(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


def demand(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            print(f"SKIPPED: {program} is not installed")
            sys.exit(SKIPPED)


def options_in_help(command):
    heads = re.findall(r"^  (-[\w-]+(?:,-[\w-]+)*)", printed(command, "--help"), re.M)
    return {name for head in heads for name in head.split(",") if name.startswith("--")}


def options_in_bash(command):
    asked = subprocess.run(["bash", "-c", f". ./completion.bash; _xpu_preflight_options {command}"], check=True, capture_output=True, text=True)
    return {word for word in asked.stdout.split() if word.startswith("--")} - {"--"}


def commands():
    overview = printed("--help")
    return re.findall(r"^  ([a-z]+) ", overview[overview.index("Subcommands"):], re.M)


def words_are_complete():
    names = commands()
    demand("check" in names and "completions" in names, f"no commands in --help: {names}")
    texts = {shell: printed("completions", shell) for shell in ("bash", "zsh", "fish")}
    texts["manual"] = printed("manual").replace("\\-", "-")
    pathlib.Path("completion.bash").write_text(texts["bash"])
    seen = 0
    for command in names:
        for text in texts.values():
            demand(re.search(rf"\b{command}\b", text), f"{command} is missing")
        demand(options_in_bash(command) == options_in_help(command), f"other options of {command} than in --help")
        for option in options_in_help(command):
            seen += 1
            for shell, text in texts.items():
                wanted = f"-l {option[2:]} " if shell == "fish" else option
                demand(wanted in text, f"{option} of {command} is missing in {shell}")
    demand(seen > 100, f"only {seen} options were found in --help")
    for shell in ("bash", "zsh", "fish"):
        for word in ("--attention-backend", "intel_xpu", "--page-size", "--model-path", "Qwen/Qwen3-0.6B", "b580", "0.5.11"):
            demand(word in texts[shell], f"{word} is missing in {shell}")


def typed_in_terminal(argv, lines, last):
    """Types the lines into a program in a terminal; what it wrote until `last` matched."""
    try:
        child, terminal = pty.fork()
    except OSError as error:
        print(f"SKIPPED: no terminal can be had: {error}")
        sys.exit(SKIPPED)
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 500, 0, 0))  # no line is cut
        os.environ.update(TERM="dumb", INPUTRC="/dev/null", PS1="$ ", HOME=os.getcwd())
        os.execvp(argv[0], argv)
    out = ""
    try:
        for line in lines:
            out += read_until(terminal, r"[$%#] ?$")
            os.write(terminal, line.encode())
        out += read_until(terminal, last)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
    return out


def read_until(terminal, pattern, seconds=60):
    out, end = "", time.monotonic() + seconds
    while not re.search(pattern, out):
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            sys.exit(f"FAILED: {pattern!r} did not come; the terminal shows\n{out}")
        out += re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|\x1b[=>]", "", os.read(terminal, 65536).decode(errors="replace"))
    return out


# What stands in a word behind | is what the tab key has to write.
ROWS = [
    "che|ck --forma|t j|son -- --attention-backe|nd intel_x|pu --page-si|ze 32",
    "resol|ve --device-prof|ile b58|0",
    "comp|letions fi|sh",
    "check --command-file lau|nch.sh",
    "check lau|nch.sh",
    "check -- --model-path Qwen/Qwen3-0.6|B",
    "exec --warn-o|nly -- python -m sglang.launch_server --kv-cache-dt|ype fp8_e5|m2",
]


def tried_in_terminal(shell, argv, setting_up):
    needs(shell)
    script = pathlib.Path("completion." + shell)
    script.write_text(printed("completions", shell))
    subprocess.run([shell, "-n", str(script)], check=True)
    pathlib.Path("launch.sh").write_text("")
    for row in ROWS:
        # The key writes the blank behind a word, too; the one that stands there would end an empty word.
        typed = "xpu-preflight " + re.sub(r"\|[^ ]* ?", "\t", row)
        out = typed_in_terminal(argv, [*setting_up, typed + "\r"], r"\n<[^\r\n]*>\r")
        given = re.findall(r"\n(<[^\r\n]*>)\r", out)[-1]
        words = " ".join(re.findall(r"<([^>]*)>", given)).replace("=", " ")  # --option=value is the same
        demand(words == row.replace("|", ""), f"{typed!r} became {words!r}")


def bash():
    setting_up = [". ./completion.bash; xpu-preflight() { printf '<%s>' \"$@\"; echo; }\r"]
    tried_in_terminal("bash", ["bash", "--norc", "--noprofile", "-i"], setting_up)


def zsh():
    setting_up = ["PS1='$ '; unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit; compinit -u -D\r",
                  ". ./completion.zsh; xpu-preflight() { printf '<%s>' \"$@\"; echo; }\r"]
    tried_in_terminal("zsh", ["zsh", "-f", "-i"], setting_up)


def fish():
    needs("fish")
    pathlib.Path("completion.fish").write_text(printed("completions", "fish"))
    subprocess.run(["fish", "--no-execute", "completion.fish"], check=True)
    pathlib.Path("launch.sh").write_text("")
    for row in ROWS:
        for tab in re.finditer(r"\|([^ ]*)", row):
            line = "xpu-preflight " + row[: tab.start()].replace("|", "")
            asked = ["fish", "-c", "source completion.fish; complete -C " + quoted(line)]
            found = subprocess.run(asked, check=True, capture_output=True, text=True, env=dict(os.environ, HOME=os.getcwd()))
            words = [answer.split("\t")[0] for answer in found.stdout.splitlines()]
            demand(line.split()[-1] + tab[1] in words, f"{line!r}: {tab[1]} does not come, but {words[:20]} {found.stderr}")


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def manual():
    needs("groff", "man")
    page = pathlib.Path("xpu-preflight.1")
    page.write_text(printed("manual"))
    groff = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True)
    demand(groff.returncode == 0 and groff.stderr == "", f"groff says {groff.stderr}")
    shown = subprocess.run(["man", "--warnings", "-l", str(page)], check=True, capture_output=True, text=True, env=dict(os.environ, MANWIDTH="80", MAN_KEEP_FORMATTING="", LC_ALL="C.UTF-8"))
    demand(shown.stderr == "", f"man says {shown.stderr}")
    for words in ("NAME", "xpu-preflight - check SGLang launches", "--kernel-timeout", "EXIT STATUS", "XPU_PREFLIGHT_CACHE_DIR"):
        demand(words in shown.stdout, f"{words} does not show")


def main():
    what = {"words": words_are_complete, "bash": bash, "zsh": zsh, "fish": fish, "manual": manual}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        what()
        os.chdir("/")
    print(f"{sys.argv[2]}: ok")


main()
