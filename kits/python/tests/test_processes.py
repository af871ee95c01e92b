"""Starts and ends: nothing is left, however a test ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import teetap

from peers import Bot, ROOT, Server

NOBODY = "127.0.0.1:1"


def processes(mark: str) -> list[int]:
    """Returns the processes that have a text in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(folder.name))
    return found


def test_two_hundred_runs_eight_at_once_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    descriptors = len(os.listdir("/proc/self/fd"))

    def run(number: int) -> tuple[int, str]:
        with teetap.Proxy(NOBODY, rules=f"rule{number}: drop when sv_chat") as p:
            assert [rule["name"] for rule in p.rules()] == [f"rule{number}"]
            place = (p.addr.port, str(p.seed))
        assert p.summary is not None and p.summary["exit"] == 0
        return place

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, range(200)))
    assert len(found) == 200
    assert list(tmp_path.iterdir()) == []
    assert processes(str(tmp_path)) == []
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_killed_test_takes_its_runs_along(server: Server, tmp_path: Path) -> None:
    program = (
        "import teetap, sys, time\n"
        f"runs = [teetap.Proxy({server.address!r}).start() for _ in range(3)]\n"
        "print(*(run.addr.port for run in runs), flush=True)\n"
        "time.sleep(1000)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(teetap.__file__).parents[1]), "TMPDIR": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    ports = child.stdout.readline().split()
    # One of them has a session.
    with Bot(("127.0.0.1", int(ports[0]))) as bot:
        bot.wait("^joined guest$")
        assert len(processes(str(tmp_path))) == 3
        child.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        while processes(str(tmp_path)):
            assert time.monotonic() - killed < 2.0, "teetap is still running"
            time.sleep(0.02)
        bot.wait("^disconnected by server")
    child.wait()
    child.stdout.close()
    assert list(tmp_path.glob("*/control")) == []


def test_a_test_that_forgets_to_stop_leaves_nothing(tmp_path: Path) -> None:
    program = f"import teetap\np = teetap.Proxy({NOBODY!r}).start()\n"
    environment = {**os.environ, "PYTHONPATH": str(Path(teetap.__file__).parents[1]), "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    assert processes(str(tmp_path)) == [] and list(tmp_path.iterdir()) == []


def test_each_line_of_the_socket_matches_the_schema(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[dict[str, Any]] = []
    read = teetap._control.Connection._line

    def noted(self: Any, line: dict[str, Any]) -> None:
        lines.append(line)
        read(self, line)

    monkeypatch.setattr(teetap._control.Connection, "_line", noted)
    with teetap.Proxy(server.address, rules="chat: pause max 1s when cl_say") as p, p.watch(verbose=2) as watch:
        with Bot(p.addr) as bot:
            bot.wait("^joined guest$")
            bot.type("say hello")
            p.wait("cl_say")
            p.inject("s2c sv_broadcast{message: \"hi\"}")
            for command in ("sessions", "stats", "rules"):
                p.command(command)
            p.held()
            with pytest.raises(teetap.Refused):
                p.command("nonsense")
            bot.wait("^chat guest: hello$")
        assert watch.next()
    schema = json.loads((ROOT / "docs/json.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert {line["event"] for line in lines} >= {"start", "answer", "session", "message", "datagram", "notice"}
    for line in lines:
        errors = [error.message for error in validator.iter_errors(line)]
        assert errors == [], (line, errors)
