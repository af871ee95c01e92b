"""teetap in a test: a proxy between a client and a server of Teeworlds or DDNet, with rules, a recording and findings.

    import teetap

    with teetap.Proxy("127.0.0.1:8303", rules="lose when cl_start_info first 1", link="both loss 5%") as p:
        client = connect(p.addr)
        p.wait("s2c and sv_chat", timeout=5)
    assert p.findings(side="client") == []
"""

from ._aio import AsyncProxy, AsyncRule, AsyncWatch
from ._proxy import Address, Finding, Held, Message, Proxy, Rule, Watch
from .errors import (
    BadFilter,
    BadRule,
    JudgeError,
    MissingBinary,
    Refused,
    RuleFailed,
    RunEnded,
    StartError,
    TeetapError,
    WaitTimeout,
    WrongVersion,
)

__all__ = [
    "Address",
    "AsyncProxy",
    "AsyncRule",
    "AsyncWatch",
    "BadFilter",
    "BadRule",
    "Finding",
    "Held",
    "JudgeError",
    "Message",
    "MissingBinary",
    "Proxy",
    "Refused",
    "Rule",
    "RuleFailed",
    "RunEnded",
    "StartError",
    "TeetapError",
    "WaitTimeout",
    "Watch",
    "WrongVersion",
]
