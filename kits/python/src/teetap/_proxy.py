"""A run of teetap in front of a server."""

from __future__ import annotations

import atexit
import collections
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Literal, NamedTuple, Optional, Sequence, Type, Union

from . import _binary
from ._control import Connection, Object
from .errors import BadFilter, BadRule, MissingBinary, Refused, RuleFailed, RunEnded, StartError, WaitTimeout, WrongVersion

Side = Literal["client", "server"]
Direction = Literal["c2s", "s2c"]
Texts = Union[str, Iterable[str]]
PathLike = Union[str, "os.PathLike[str]"]

#: Maximum wait for the start, in seconds.
START = 20.0

#: Maximum wait for the end after stdin is closed, and again after SIGTERM, in seconds.
END = 10.0

#: Pauses between two searches of the recording while a message is awaited, in seconds; the last one repeats.
PAUSES = (0.05, 0.1, 0.25, 1.0)

#: Maximum number of warnings that are kept for error messages.
WARNINGS = 50


class Address(NamedTuple):
    """An address to connect a socket to. ``str()`` returns ``HOST:PORT``."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Message(dict[str, Any]):
    """A message or a datagram: the JSON object of teetap, with shorthands."""

    @property
    def name(self) -> Optional[str]:
        """Name such as ``sv_chat``; ``None`` for a datagram."""
        return self.get("name")

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the message by name."""
        return self.get("fields") or {}

    @property
    def session(self) -> Optional[int]:
        """Number of the session, from 1."""
        return self.get("session")

    @property
    def t(self) -> float:
        """Seconds since the start of the run."""
        return float(self["t"])

    def _key(self) -> tuple[Any, ...]:
        names = ("session", "dir", "name", "seq", "datagram", "ordinal", "origin", "size")
        return tuple(self.get(name) for name in names)


class Finding(dict[str, Any]):
    """A finding of ``teetap judge``: the JSON object of teetap, with shorthands. ``str()`` returns a sentence."""

    @property
    def code(self) -> str:
        """Code such as ``ack-ahead``; ``teetap explain CODE`` prints its page."""
        return str(self["code"])

    @property
    def severity(self) -> str:
        """``error``, ``warning`` or ``info``."""
        return str(self["severity"])

    @property
    def side(self) -> Optional[str]:
        """``client``, ``server`` or ``proxy``: the peer that caused it. ``None`` if unknown."""
        return self.get("by")

    def __str__(self) -> str:
        place = f"session {self.get('session')}, {self['t']:.3f} s"
        message = f", {self['message']}" if self.get("message") else ""
        detail = f" ({self['detail']})" if self.get("detail") else ""
        return f"{self.severity} {self.code} by the {self.side or 'peers'}: {self['text']}{detail} [{place}{message}]"


class Rule:
    """Statements that a test added to a run. As a context manager, removes them at the end of the block."""

    def __init__(self, proxy: Proxy, names: Sequence[str]) -> None:
        self._proxy = proxy
        #: Names of the statements; the text of a statement without a name.
        self.names = tuple(names)

    def on(self) -> None:
        """Switches the statements on."""
        self._each("rule_on")

    def off(self) -> None:
        """Switches the statements off."""
        self._each("rule_off")

    def remove(self) -> None:
        """Removes the statements."""
        self._each("rule_remove")

    @property
    def hits(self) -> int:
        """Number of messages on which the statements acted."""
        return sum(rule["hits"] or 0 for rule in self._proxy.rules() if rule["name"] in self.names)

    def _each(self, command: str) -> None:
        for name in self.names:
            self._proxy.command(command, name=name)

    def __enter__(self) -> Rule:
        return self

    def __exit__(self, *_: object) -> None:
        # The run may have ended in the block.
        with contextlib.suppress(RunEnded):
            self.remove()


class Held(dict[str, Any]):
    """A message that ``pause`` holds: the JSON object of teetap, with commands."""

    def __init__(self, proxy: Proxy, held: Object) -> None:
        super().__init__(held)
        self._proxy = proxy

    @property
    def name(self) -> Optional[str]:
        """Name of the message; ``None`` if it is unknown."""
        return self.get("name")

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the message by name."""
        return self.get("fields") or {}

    def release(self) -> None:
        """Forwards the message."""
        self._command("release")

    def drop(self) -> None:
        """Drops the message."""
        self._command("drop")

    def edit(self, message: Optional[str] = None, *, fields: Optional[dict[str, Any]] = None, hex: Optional[str] = None) -> None:
        """Changes the message, which stays held. Fields that are not named keep their values."""
        self._command("edit", message=message, fields=fields, hex=hex)

    def _command(self, command: str, **fields: Any) -> None:
        self._proxy.command(command, session=self["session"], dir=self["dir"], held=self["held"], **fields)


class Watch:
    """A subscription to the messages that match a filter, from its creation on."""

    def __init__(self, proxy: Proxy, filter: Optional[str], verbose: int = 0) -> None:
        self._proxy = proxy
        self._filter = filter
        self._connection = Connection(proxy._socket)
        #: Number of events that were lost because this process was too slow.
        self.missed = 0
        try:
            self._connection.command("subscribe", filter=filter, verbose=verbose)
        except Refused as error:
            self.close()
            raise BadFilter("filter", error.why) from None
        except BaseException:
            self.close()
            raise

    def next(self, timeout: float = 5.0) -> Message:
        """Returns the next message that matches.

        :raises WaitTimeout: if there is none for ``timeout`` seconds.
        :raises RunEnded: if the run ends first.
        """
        found = self._until(time.monotonic() + timeout)
        if found is None:
            raise self._proxy._timeout(self._filter, timeout)
        return found

    def _until(self, deadline: float) -> Optional[Message]:
        while True:
            try:
                event = self._connection.event(deadline)
            except RunEnded:
                raise self._proxy._ended("wait") from None
            if event is None:
                return None
            if event["event"] in ("message", "datagram"):
                return Message(event)
            if event["event"] == "gap":
                self.missed += int(event.get("lost") or event.get("missed") or 0)

    def close(self) -> None:
        """Ends the subscription."""
        self._connection.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Message]:
        """Returns the messages up to the end of the run."""
        while True:
            try:
                found = self._until(time.monotonic() + 3600.0)
            except RunEnded:
                return
            if found is not None:
                yield found


def texts(given: Texts) -> list[str]:
    """Returns the texts of an option that may be given once or several times."""
    return [given] if isinstance(given, str) else list(given)


class Proxy:
    """A run of teetap: starts with ``with`` or :meth:`start`, ends with the block or :meth:`stop`.

    :param target: address of the server, ``HOST[:PORT]``.
    :param rules: rules, such as ``"drop when sv_chat"``, or one string with one rule.
    :param link: link lines, such as ``"both loss 5%"``.
    :param profile: names of link profiles, such as ``"wifi-bad"``.
    :param rule_files: files of rules.
    :param record: file of the recording, ``.pcapng`` or ``.jsonl``. An older recording of teetap is replaced. Without it the recording
        is temporary.
    :param listen: address for clients; by default a free port of 127.0.0.1.
    :param seed: seed of the random decisions.
    :param options: more options of ``teetap run``.
    :param binary: the program; by default the one installed with this package, ``$TEETAP_BIN``, or ``teetap`` in ``$PATH``.
    """

    def __init__(
        self,
        target: str,
        *,
        rules: Texts = (),
        link: Texts = (),
        profile: Texts = (),
        rule_files: Iterable[PathLike] = (),
        record: Optional[PathLike] = None,
        listen: str = "127.0.0.1:0",
        seed: Optional[int] = None,
        options: Sequence[str] = (),
        binary: Optional[PathLike] = None,
    ) -> None:
        self.target = target
        self._listen = listen
        self._options = [
            *(word for rule in texts(rules) for word in ("--rule", rule)),
            *(word for line in texts(link) for word in ("--link", line)),
            *(word for name in texts(profile) for word in ("--profile", name)),
            *(word for file in rule_files for word in ("--rules", os.fspath(file))),
            *options,
        ]
        self._seed = seed
        self._has_rules = bool(texts(rules) or texts(link) or texts(profile) or list(rule_files))
        self._record = Path(record).absolute() if record is not None else None
        self._wanted_binary = binary
        self._binary = ""
        self._folder: Optional[str] = None
        self._socket = ""
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._reader: Optional[threading.Thread] = None
        self._control: Optional[Connection] = None
        self._start: Optional[Object] = None
        self._started = threading.Event()
        self._warnings: collections.deque[str] = collections.deque(maxlen=WARNINGS)
        self._position = 0.0
        self._taken: set[tuple[Any, ...]] = set()
        self._findings: Optional[list[Finding]] = None
        self._is_recorded = False
        #: ``summary`` line of the run; ``None`` while it runs.
        self.summary: Optional[Object] = None

    # Start and end.

    def start(self) -> Proxy:
        """Starts the run, and returns this object once clients can connect."""
        if self._process is not None:
            raise StartError("a proxy starts only once; create another one")
        self._binary = _binary.find(self._wanted_binary)
        self._folder = tempfile.mkdtemp(prefix="teetap-")
        # For a test that forgets to stop the run.
        atexit.register(self.stop)
        self._socket = os.path.join(self._folder, "control")
        if self._record is not None:
            replace(self._record)
        command = [
            self._binary, "run", self.target, "--json", "--quiet", "--until-stdin-closes", "--listen", self._listen,
            "--control", self._socket, "--write", str(self.recording), *self._options,
            *(["--seed", str(self._seed)] if self._seed is not None else []),
        ]  # fmt: skip
        stderr = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=_binary.environment()
            )
            self._reader = threading.Thread(target=self._read, args=(self._process,), name="teetap output", daemon=True)
            self._reader.start()
            self._check_start(stderr)
            self._control = Connection(self._socket)
        except OSError as error:
            self._clean()
            raise MissingBinary(f"cannot run {self._binary}: {error.strerror}") from error
        except BaseException:
            self._clean()
            raise
        finally:
            stderr.close()
        return self

    def _check_start(self, stderr: Any) -> None:
        assert self._process is not None and self._reader is not None
        if self._started.wait(START) and self._start is not None:
            self._is_recorded = True
            version = self._start.get("v")
            if version != _binary.SCHEMA:
                raise WrongVersion(f"{self._binary} writes version {version} of its JSON lines; this package reads version {_binary.SCHEMA}")
            return
        late = StartError(f"teetap did not start within {START:.0f} s")
        if not self._started.is_set():
            raise late
        try:
            # It has closed its output, but may run on.
            code = self._process.wait(START)
        except subprocess.TimeoutExpired:
            raise late from None
        stderr.seek(0)
        why = _binary.sentence(stderr.read().decode(errors="replace"))
        if code not in (1, 3):
            # An older release refuses the options; another program does anything.
            _binary.check_version(self._binary)
        if code == 2 and self._has_rules and RULE_ERROR in why:
            raise BadRule(why, code)
        raise StartError(why or f"teetap ended with exit code {code}", code)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Reads the output of the run to its end, and closes it."""
        assert process.stdout is not None
        with process.stdout:
            for text in process.stdout:
                try:
                    line = json.loads(text)
                except ValueError:
                    continue
                if isinstance(line, dict):
                    self._on_line(line)
        self._started.set()

    def _on_line(self, line: Object) -> None:
        """Records a line of the run."""
        event = line.get("event")
        if event == "start":
            self._start = line
            self._started.set()
        elif event == "summary":
            self.summary = line
        elif line.get("level") == "warning":
            self._warnings.append(str(line.get("text")))

    def stop(self) -> Optional[Object]:
        """Ends the run and returns its ``summary`` line. Does nothing if it has ended already."""
        process = self._process
        if process is None:
            return None
        if self._control is not None:
            self._control.close()
        steps: list[Callable[[], object]] = [
            lambda: process.stdin and process.stdin.close(),
            lambda: process.send_signal(signal.SIGTERM),
            process.kill,
        ]
        for step in steps:
            with contextlib.suppress(OSError):
                step()
            try:
                process.wait(END)
                break
            except subprocess.TimeoutExpired:
                continue
        self._clean()
        return self.summary

    def _clean(self) -> None:
        """Ends the process if it still runs, and removes temporary files. Reads the findings of a temporary recording first."""
        atexit.unregister(self.stop)
        process = self._process
        if process is not None:
            if process.poll() is None:
                process.kill()
                process.wait()
            if self._reader is not None:
                self._reader.join(END)
            # A process that the program has left behind holds stdout: closing it would wait for the reader.
            is_read = self._reader is None or not self._reader.is_alive()
            for pipe in (process.stdin, process.stdout if is_read else None):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._folder is not None:
            if self._record is None and self._is_recorded and self._findings is None:
                # The recording is removed, but not what it says.
                with contextlib.suppress(Exception):
                    self._findings = self._judged()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Proxy:
        return self if self._process is not None else self.start()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()
        failed = self.failed_rule()
        if kind is None and failed is not None:
            raise RuleFailed(failed)

    # Facts.

    @property
    def addr(self) -> Address:
        """Address that clients connect to."""
        host, _, port = str(self._fact("listen")).rpartition(":")
        host = host.strip("[]")
        return Address({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port))

    @property
    def seed(self) -> int:
        """Seed of the random decisions."""
        return int(self._fact("seed"))

    @property
    def repeat(self) -> str:
        """Command line that starts the run again by hand, with the same rules and seed. Rules added later are not part of it."""
        return shlex.join(["teetap", "run", self.target, *self._options, "--seed", str(self.seed)])

    @property
    def version(self) -> str:
        """Version of teetap."""
        return str(self._fact("version"))

    @property
    def pid(self) -> int:
        """Process id of teetap."""
        if self._process is None:
            raise RunEnded("the run has not started")
        return self._process.pid

    @property
    def recording(self) -> Path:
        """Path of the recording."""
        return self._record or Path(self._folder or tempfile.gettempdir(), "run.pcapng")

    @property
    def warnings(self) -> list[str]:
        """Last warnings of teetap."""
        return list(self._warnings)

    def failed_rule(self) -> Optional[str]:
        """Returns the reason if a rule with ``fail`` or ``expect`` ended the run."""
        ended = (self.summary or {}).get("ended_by") or {}
        if ended.get("kind") not in ("fail", "expect"):
            return None
        return f"rule \"{ended.get('rule')}\" failed the run: {ended.get('why')}"

    def _fact(self, name: str) -> Any:
        if self._start is None:
            raise RunEnded("the run has not started")
        return self._start[name]

    # Commands.

    def command(self, cmd: str, **fields: Any) -> Object:
        """Sends a command of the control socket and returns the answer. Fields that are ``None`` are not sent.

        :raises Refused: if the run refuses it.
        """
        if self._control is None:
            raise RunEnded(f"{cmd}: the run has not started")
        try:
            return self._control.command(cmd, **fields)
        except RunEnded:
            raise self._ended(cmd) from None

    def inject(
        self,
        message: Optional[str] = None,
        *,
        dir: Optional[Direction] = None,
        name: Optional[str] = None,
        fields: Optional[dict[str, Any]] = None,
        hex: Optional[str] = None,
        vital: Optional[bool] = None,
        session: Optional[int] = None,
    ) -> None:
        """Sends an additional message: ``"s2c sv_broadcast{message: \\"hi\\"}"``, or ``dir`` with ``name`` and ``fields`` or ``hex``.

        A missing field gets its default. ``session`` may be left out if only one session is online.
        """
        self.command("inject", session=session, message=message, dir=dir, name=name, fields=fields, hex=hex, vital=vital)

    def rule(self, text: str) -> Rule:
        """Adds rules or link lines after all others.

        :raises BadRule: if the text is wrong.
        """
        before = len(self.rules())
        try:
            self.command("rule_add", text=text)
        except Refused as error:
            raise BadRule(error.why) from None
        return Rule(self, [rule["name"] for rule in self.rules()[before:]])

    def rules(self) -> list[Object]:
        """Returns the rules and link lines, in their order."""
        return list(self.command("rules")["rules"])

    def held(self, session: Optional[int] = None) -> list[Held]:
        """Returns the held messages of a session; of all sessions without a number."""
        numbers = [session] if session is not None else [int(one["session"]) for one in self.sessions()]
        return [Held(self, held) for number in numbers for held in self.command("held", session=number)["held"]]

    def sessions(self) -> list[Object]:
        """Returns the sessions that are not closed."""
        return list(self.command("sessions")["sessions"])

    def stats(self) -> Object:
        """Returns the counts of the run."""
        return dict(self.command("stats")["stats"])

    def resync(self, session: Optional[int] = None) -> None:
        """Makes the server send a complete snapshot."""
        self.command("resync", session=session)

    def close(
        self, reason: Optional[str] = None, *, side: Optional[Literal["client", "server", "both"]] = None, session: Optional[int] = None
    ) -> None:
        """Closes a session, by default the only one, with CLOSE to both peers. ``side`` gets the reason; by default both do."""
        self.command("close", session=session, side=side, reason=reason)

    # Messages.

    def watch(self, filter: Optional[str] = None, *, verbose: int = 0) -> Watch:
        """Subscribes to the messages that match a filter, from now on.

        :raises BadFilter: if the filter is wrong.
        """
        return Watch(self, filter, verbose)

    def wait(self, filter: str, timeout: float = 5.0) -> Message:
        """Returns the first message that matches, received after the one that the previous ``wait`` returned.

        Messages count from the start of the run, so that a message that was received before the call is found, too.

        :raises WaitTimeout: if there is none for ``timeout`` seconds.
        :raises RunEnded: if the run ends first.
        :raises BadFilter: if the filter is wrong.
        """
        deadline = time.monotonic() + timeout
        pauses = iter(PAUSES)
        pause = 0.0
        with self.watch(filter) as watch:
            while True:
                try:
                    found = self._unseen(watch, min(deadline, time.monotonic() + pause))
                except RunEnded:
                    found = self._recorded(filter)
                    if found is None:
                        raise
                # A message from before the subscription is earlier than any that the subscription has.
                earlier = self._recorded(filter) if found is None or pause == 0.0 else None
                found = earlier or found
                if found is not None:
                    self._advance(found)
                    return found
                if time.monotonic() >= deadline:
                    raise self._timeout(filter, timeout)
                pause = next(pauses, PAUSES[-1])

    def seen(self, filter: Optional[str] = None) -> list[Message]:
        """Returns all messages so far that match a filter, from the recording."""
        lines = _binary.json_lines(
            self._binary, ["grep", "--json", filter or "c2s or s2c", str(self.recording)], self.recording
        )
        starts = [at for at, line in enumerate(lines) if line["event"] == "start"]
        own = lines[starts[-1] :] if starts else lines
        return [Message(line) for line in own if line["event"] in ("message", "datagram")]

    def _unseen(self, watch: Watch, deadline: float) -> Optional[Message]:
        while (found := watch._until(deadline)) is not None:
            if self._is_new(found):
                return found
        return None

    def _recorded(self, filter: str) -> Optional[Message]:
        return next(filter_new(self.seen(filter), self._is_new), None)

    def _is_new(self, message: Message) -> bool:
        return message.t > self._position or message.t == self._position and message._key() not in self._taken

    def _advance(self, message: Message) -> None:
        if message.t > self._position:
            self._position = message.t
            self._taken.clear()
        self._taken.add(message._key())

    # Findings.

    def findings(self, *, side: Optional[str] = None, severity: Optional[str] = None) -> list[Finding]:
        """Returns the findings of ``teetap judge``, the most important one first: of the whole run once it has ended, else of the part
        that is recorded.

        :param side: only findings about ``"client"``, ``"server"`` or ``"proxy"``.
        :param severity: only findings of this severity: ``"error"``, ``"warning"`` or ``"info"``.
        """
        found = self._findings
        if found is None:
            found = self._judged()
            if self._process is not None and self._process.poll() is not None:
                self._findings = found
        return [
            finding
            for finding in found
            if (side is None or finding.side == side) and (severity is None or finding.severity == severity)
        ]

    def _judged(self) -> list[Finding]:
        if not self._is_recorded:
            raise RunEnded("the run has not started")
        lines = _binary.json_lines(self._binary, ["judge", "--json", str(self.recording)], self.recording)
        return [Finding(line) for line in lines if line["event"] == "finding"]

    # Errors.

    def _timeout(self, filter: Optional[str], timeout: float) -> WaitTimeout:
        said = "".join(f"; teetap: {warning}" for warning in self.warnings[-3:])
        return WaitTimeout(f"no message matched {filter!r} for {timeout:g} s{said}")

    def _ended(self, command: str) -> RunEnded:
        if self._reader is not None and self._process is not None and self._process.stdin and not self._process.stdin.closed:
            # The summary follows the end of the control socket.
            self._reader.join(END)
        ended = (self.summary or {}).get("ended_by") or {}
        why = self.failed_rule() or (f"ended by {ended['kind']}" if ended else "the run has ended")
        said = "".join(f"; teetap: {warning}" for warning in self.warnings[-3:]) if not ended else ""
        return RunEnded(f"{command}: {why}{said}")


#: Start of the line of an error in a rule, in the output of a program that refused to start.
RULE_ERROR = "error[E"


def filter_new(messages: Iterable[Message], is_new: Callable[[Message], bool]) -> Iterator[Message]:
    """Returns the messages for which ``is_new`` returns true."""
    return (message for message in messages if is_new(message))


def replace(path: Path) -> None:
    """Removes an older recording of teetap. Other files stay, and teetap refuses them."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except FileNotFoundError:
        return
    except OSError:
        # teetap says why.
        return
    if start.startswith(b"\n\r\r\n") or start.startswith(b'{"v":'):
        path.unlink()
