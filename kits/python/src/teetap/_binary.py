"""Finds and runs the program ``teetap``."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, Optional, Sequence

from .errors import JudgeError, MissingBinary, WrongVersion

#: Oldest supported version of the program.
OLDEST = (0, 1, 0)

#: Version of the JSON lines that this package reads.
SCHEMA = 2

#: Maximum duration of a command that reads a recording, in seconds.
PATIENCE = 120.0

#: Maximum duration of ``--version``, in seconds.
VERSION = 10.0


def find(binary: Optional[os.PathLike[str] | str] = None) -> str:
    """Returns the path of the program: ``binary``, ``$TEETAP_BIN``, the one installed with this package, or ``$PATH``."""
    wanted = os.fspath(binary) if binary is not None else os.environ.get("TEETAP_BIN")
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            origin = "" if binary is not None else " (from TEETAP_BIN)"
            raise MissingBinary(f"cannot run {wanted}{origin}: no such program; install teetap or name its path")
        return os.path.abspath(found)
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    for folder in folders:
        found = shutil.which("teetap", path=folder) if folder else None
        if found is not None:
            return found
    found = shutil.which("teetap")
    if found is None:
        raise MissingBinary("cannot run teetap: it is not in PATH; install it, or set TEETAP_BIN to its path")
    return os.path.abspath(found)


def environment() -> dict[str, str]:
    """Returns the environment of the program: without variables that set options."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TEETAP_")}


def check_version(binary: str) -> None:
    """Raises :class:`WrongVersion` if the program is too old, or is another program."""
    try:
        process = subprocess.Popen(
            [binary, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
        )
    except OSError as error:
        raise MissingBinary(f"cannot run {binary}: {error.strerror}") from error
    deadline = time.monotonic() + VERSION
    line = first_line(process, deadline)
    try:
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise WrongVersion(f"{binary} is not teetap: its --version did not end within {VERSION:.0f} s") from None
    words = line.split()
    oldest = ".".join(map(str, OLDEST))
    if code != 0 or len(words) < 2 or words[0] != "teetap":
        raise WrongVersion(f"{binary} is not teetap: its --version prints {line!r}")
    try:
        version = tuple(int(part) for part in words[1].split("-")[0].split("."))
    except ValueError:
        version = ()
    if version < OLDEST:
        raise WrongVersion(f"{binary} is {line}; this package needs {oldest} or later")


def first_line(process: subprocess.Popen[bytes], deadline: float) -> str:
    """Returns the first line on stdout, as far as it is there before ``deadline``, and closes stdout."""
    assert process.stdout is not None
    text = b""
    with process.stdout, selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while b"\n" not in text and len(text) < 4096 and selector.select(max(0.0, deadline - time.monotonic())):
            more = os.read(process.stdout.fileno(), 4096)
            if not more:
                break
            text += more
    return (text.decode(errors="replace").splitlines() or [""])[0]


def json_lines(binary: str, arguments: Sequence[str], path: Path) -> list[dict[str, Any]]:
    """Runs a command that reads the recording at ``path``. Returns its JSON lines."""
    try:
        output = subprocess.run(
            [binary, *arguments], capture_output=True, timeout=PATIENCE, env=environment(), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise JudgeError(f"cannot read {path}: teetap {arguments[0]} took more than {PATIENCE:.0f} s") from error
    if output.returncode not in (0, 1):
        raise JudgeError(sentence(output.stderr.decode(errors="replace")) or f"cannot read {path}")
    return [json.loads(line) for line in output.stdout.splitlines() if line]


def sentence(stderr: str) -> str:
    """Returns the output of a program that refused to start, without the prefix of its first line."""
    text = stderr.strip()
    for prefix in ("teetap: ", "error: "):
        text = text.removeprefix(prefix)
    return text
