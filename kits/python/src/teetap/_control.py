"""A connection to the control socket of a run."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from typing import Any, Optional

from ._binary import SCHEMA
from .errors import Refused, RunEnded, TeetapError, WrongVersion

#: Maximum wait for the answer to a command, in seconds.
PATIENCE = 10.0

#: Maximum bytes of a line, longer than any event or answer.
LONGEST = 16 << 20

Object = dict[str, Any]


class Connection:
    """A connection: commands and their answers, and the events of a subscription.

    A thread reads the socket, so that the run never waits for this process.
    """

    def __init__(self, path: str) -> None:
        self._events: queue.SimpleQueue[Optional[Object]] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Optional[Object]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._last = 0
        #: Last line of the run; ``None`` while it runs.
        self.summary: Optional[Object] = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(PATIENCE)
            self._socket.connect(path)
            self._socket.settimeout(None)
        except OSError as error:
            self._socket.close()
            raise RunEnded(f"cannot connect to {path}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._read, name="teetap control", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as lines:
                while line := lines.readline(LONGEST):
                    self._line(json.loads(line))
        except (OSError, ValueError):
            # The connection is closed, or damaged: both end it.
            pass
        self._events.put(None)
        self._answers.put(None)

    def _line(self, line: Object) -> None:
        event = line.get("event")
        if event == "answer":
            self._answers.put(line)
        elif event == "summary":
            self.summary = line
        elif event != "start":
            self._events.put(line)

    def command(self, cmd: str, **fields: Any) -> Object:
        """Sends a command and returns the answer. Fields that are ``None`` are not sent."""
        with self._lock:
            self._last += 1
            wanted = {name: value for name, value in fields.items() if value is not None}
            line = json.dumps({"id": self._last, "cmd": cmd, **wanted})
            try:
                self._socket.sendall(line.encode() + b"\n")
            except OSError:
                # The answer that refused the connection may still be there to read.
                pass
            answer = self._answer(cmd)
        if answer.get("v") != SCHEMA:
            raise WrongVersion(f"teetap writes version {answer.get('v')} of its JSON lines; this package reads version {SCHEMA}")
        if not answer["done"]:
            raise Refused(cmd, answer["why"])
        return answer

    def _answer(self, cmd: str) -> Object:
        while True:
            try:
                answer = self._answers.get(timeout=PATIENCE)
            except queue.Empty:
                raise TeetapError(f"{cmd}: no answer for {PATIENCE:.0f} s") from None
            if answer is None:
                self._answers.put(None)
                raise RunEnded(f"{cmd}: the run has ended")
            # An answer without a number refuses the connection. A late answer to an earlier command is skipped.
            if answer["id"] in (None, self._last):
                return answer

    def event(self, deadline: float) -> Optional[Object]:
        """Returns the next event; ``None`` if there is none before ``deadline`` (of :func:`time.monotonic`).

        :raises RunEnded: if the connection is closed.
        """
        try:
            event = self._events.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if event is None:
            self._events.put(None)
            raise RunEnded("the run has ended")
        return event

    def close(self) -> None:
        """Closes the connection."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self._thread is not threading.current_thread():
            self._thread.join(PATIENCE)
        self._socket.close()
