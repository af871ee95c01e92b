"""Exceptions. Each contains the sentence that teetap printed, if there is one."""

from __future__ import annotations

from typing import Optional


class TeetapError(Exception):
    """Base of all exceptions of this package."""


class MissingBinary(TeetapError):
    """The program ``teetap`` was not found, or cannot be executed."""


class WrongVersion(TeetapError):
    """The program ``teetap`` is of a version that this package does not support."""


class StartError(TeetapError):
    """teetap refused to start. ``code`` is its exit code: 2 for a wrong option, 3 for the network."""

    def __init__(self, sentence: str, code: Optional[int] = None) -> None:
        super().__init__(sentence)
        self.code = code


class BadRule(StartError):
    """A rule, a link line or a file of rules is wrong."""


class Refused(TeetapError):
    """A run refused a command. ``why`` is the sentence of teetap."""

    def __init__(self, command: str, why: str) -> None:
        super().__init__(f"{command}: {why}")
        self.command = command
        self.why = why


class BadFilter(Refused):
    """The filter of a subscription is wrong."""


class RunEnded(TeetapError):
    """The run has ended, so it carries out no further command."""


class RuleFailed(TeetapError):
    """A rule with ``fail`` or ``expect`` failed the run."""


class WaitTimeout(TeetapError, TimeoutError):
    """No message matched in time."""


class JudgeError(TeetapError):
    """A recording cannot be read."""
