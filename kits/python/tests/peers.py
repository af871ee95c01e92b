"""Debian's DDNet server and the npm client ``teeworlds``, for the tests."""

from __future__ import annotations

import os
import queue
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Optional

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / "tests" / "peers"
SERVER = "/usr/games/DDNet-Server"

#: Maximum wait for a line of a program, in seconds.
PATIENCE = 60.0


class Program:
    """A program whose output lines can be awaited."""

    def __init__(self, command: list[str], folder: str) -> None:
        self.lines: list[str] = []
        self._new: queue.SimpleQueue[Optional[str]] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "HOME": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._new.put(line.rstrip("\n"))
        self._new.put(None)

    def wait(self, pattern: str, timeout: float = PATIENCE) -> str:
        """Returns the first line, of those not awaited yet, that matches a regular expression."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._new.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no line {pattern!r}: {self.lines[-30:]}")
            self.lines.append(line)
            if re.search(pattern, line):
                return line

    def type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:
                pass


class Server:
    """Debian's DDNet server on a free port."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="ddnet-server-")
        self.port = free_port()
        config = (PEERS / "ddnet-server.cfg").read_text() + f"sv_port {self.port}\n"
        Path(self._folder, "ddnet-server.cfg").write_text(config)
        self._program = Program([SERVER, "-f", "ddnet-server.cfg"], self._folder)
        # The last line at the start: the socket is open.
        self._program.wait(r"server: version ")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait(self, pattern: str) -> str:
        return self._program.wait(pattern)

    def stop(self) -> None:
        self._program.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


class Bot:
    """The npm client, driven by ``tests/peers/bot.js``: prints events as lines and takes console lines."""

    def __init__(self, address: tuple[str, int], name: str = "guest") -> None:
        self._folder = tempfile.mkdtemp(prefix="npm-bot-")
        host, port = address
        self._program = Program(["node", str(PEERS / "bot.js"), host, str(port), name], self._folder)
        self.wait = self._program.wait
        self.type = self._program.type

    def __enter__(self) -> Bot:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._program.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def free_port() -> int:
    """Returns a UDP port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
