"""The asyncio twin of :class:`Proxy`: the same methods as coroutines. Each one runs in a thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any, AsyncIterator, Iterable, Literal, Optional, Sequence, Type

from ._control import Object
from ._proxy import Address, Direction, Finding, Held, Message, PathLike, Proxy, Rule, Texts, Watch
from .errors import RuleFailed, RunEnded


class AsyncRule:
    """Statements that a test added to a run. As a context manager, removes them at the end of the block."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.names = rule.names

    async def on(self) -> None:
        """Switches the statements on."""
        await asyncio.to_thread(self._rule.on)

    async def off(self) -> None:
        """Switches the statements off."""
        await asyncio.to_thread(self._rule.off)

    async def remove(self) -> None:
        """Removes the statements."""
        await asyncio.to_thread(self._rule.remove)

    async def hits(self) -> int:
        """Returns the number of messages on which the statements acted."""
        return await asyncio.to_thread(lambda: self._rule.hits)

    async def __aenter__(self) -> AsyncRule:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._rule.__exit__)


class AsyncWatch:
    """A subscription to the messages that match a filter."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def next(self, timeout: float = 5.0) -> Message:
        """Returns the next message that matches; see :meth:`Watch.next`."""
        try:
            return await asyncio.to_thread(self._watch.next, timeout)
        except asyncio.CancelledError:
            # Ends the thread that waits.
            self._watch.close()
            raise

    async def close(self) -> None:
        """Ends the subscription."""
        await asyncio.to_thread(self._watch.close)

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            try:
                yield await self.next(3600.0)
            except RunEnded:
                return


class AsyncProxy:
    """A run of teetap, as :class:`Proxy`, with coroutines: ``async with teetap.AsyncProxy("127.0.0.1:8303") as p:``."""

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
        #: The same run with blocking methods.
        self.sync = Proxy(
            target,
            rules=rules,
            link=link,
            profile=profile,
            rule_files=rule_files,
            record=record,
            listen=listen,
            seed=seed,
            options=options,
            binary=binary,
        )

    async def start(self) -> AsyncProxy:
        """Starts the run, and returns this object once clients can connect."""
        starting = asyncio.ensure_future(asyncio.to_thread(self.sync.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The process must not survive the task.
            starting.add_done_callback(lambda done: done.exception() is None and self.sync.stop())
            raise
        return self

    async def stop(self) -> Optional[Object]:
        """Ends the run and returns its ``summary`` line."""
        return await asyncio.shield(asyncio.to_thread(self.sync.stop))

    async def __aenter__(self) -> AsyncProxy:
        return await self.start()

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.stop()
        failed = self.sync.failed_rule()
        if kind is None and failed is not None:
            raise RuleFailed(failed)

    @property
    def addr(self) -> Address:
        """Address that clients connect to."""
        return self.sync.addr

    @property
    def seed(self) -> int:
        """Seed of the random decisions."""
        return self.sync.seed

    @property
    def recording(self) -> Path:
        """Path of the recording."""
        return self.sync.recording

    @property
    def warnings(self) -> list[str]:
        """Last warnings of teetap."""
        return self.sync.warnings

    @property
    def summary(self) -> Optional[Object]:
        """``summary`` line of the run; ``None`` while it runs."""
        return self.sync.summary

    async def command(self, cmd: str, **fields: Any) -> Object:
        """Sends a command of the control socket and returns the answer."""
        return await asyncio.to_thread(self.sync.command, cmd, **fields)

    async def inject(
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
        """Sends an additional message; see :meth:`Proxy.inject`."""
        await asyncio.to_thread(
            self.sync.inject, message, dir=dir, name=name, fields=fields, hex=hex, vital=vital, session=session
        )

    async def rule(self, text: str) -> AsyncRule:
        """Adds rules or link lines after all others; see :meth:`Proxy.rule`."""
        return AsyncRule(await asyncio.to_thread(self.sync.rule, text))

    async def rules(self) -> list[Object]:
        """Returns the rules and link lines, in their order."""
        return await asyncio.to_thread(self.sync.rules)

    async def held(self, session: Optional[int] = None) -> list[Held]:
        """Returns the held messages. Their methods block for the time of one command."""
        return await asyncio.to_thread(self.sync.held, session)

    async def sessions(self) -> list[Object]:
        """Returns the sessions that are not closed."""
        return await asyncio.to_thread(self.sync.sessions)

    async def stats(self) -> Object:
        """Returns the counts of the run."""
        return await asyncio.to_thread(self.sync.stats)

    async def resync(self, session: Optional[int] = None) -> None:
        """Makes the server send a complete snapshot."""
        await asyncio.to_thread(self.sync.resync, session)

    async def close(
        self, reason: Optional[str] = None, *, side: Optional[Literal["client", "server", "both"]] = None, session: Optional[int] = None
    ) -> None:
        """Closes a session with CLOSE to both peers; see :meth:`Proxy.close`."""
        await asyncio.to_thread(self.sync.close, reason, side=side, session=session)

    async def watch(self, filter: Optional[str] = None, *, verbose: int = 0) -> AsyncWatch:
        """Subscribes to the messages that match a filter, from now on."""
        return AsyncWatch(await asyncio.to_thread(self.sync.watch, filter, verbose=verbose))

    async def wait(self, filter: str, timeout: float = 5.0) -> Message:
        """Returns the first message that matches; see :meth:`Proxy.wait`. A cancelled wait ends its thread within ``timeout``."""
        return await asyncio.to_thread(self.sync.wait, filter, timeout)

    async def seen(self, filter: Optional[str] = None) -> list[Message]:
        """Returns all messages so far that match a filter, from the recording."""
        return await asyncio.to_thread(self.sync.seen, filter)

    async def findings(self, *, side: Optional[str] = None, severity: Optional[str] = None) -> list[Finding]:
        """Returns the findings of ``teetap judge``; see :meth:`Proxy.findings`."""
        return await asyncio.to_thread(lambda: self.sync.findings(side=side, severity=severity))
