"""Wrong use: an exception with the sentence of teetap, never a hang."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import teetap

#: An address where nothing listens.
NOBODY = "127.0.0.1:1"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_missing_program(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(teetap.MissingBinary, match="cannot run /nonexistent: no such program"):
        teetap.Proxy(NOBODY, binary="/nonexistent").start()
    monkeypatch.setenv("TEETAP_BIN", "/missing")
    with pytest.raises(teetap.MissingBinary, match=r"cannot run /missing \(from TEETAP_BIN\)"):
        teetap.Proxy(NOBODY).start()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[ "$1" = --version ] && echo "teetap 0.0.9" || { echo "error: unexpected argument" >&2; exit 2; }', "is teetap 0.0.9; this package needs"),
        ("echo hello", "is not teetap: its --version prints 'hello'"),
        ('echo \'{"v":9,"event":"start"}\'; exec cat', "writes version 9 of its JSON lines; this package reads version 2"),
    ],
)
def test_another_version(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(teetap.WrongVersion) as caught:
        teetap.Proxy(NOBODY, binary=script(tmp_path / "teetap", text)).start()
    assert sentence in str(caught.value)


def test_a_program_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("teetap._proxy.START", 0.5)
    monkeypatch.setattr("teetap._proxy.END", 0.5)
    monkeypatch.setattr("teetap._binary.VERSION", 0.5)
    begin = time.monotonic()
    # The process `sleep` outlives the script, and holds its stdout.
    for text in ("sleep 20; true", "exec 1>&-; sleep 20; true"):
        with pytest.raises(teetap.StartError, match="teetap did not start within"):
            teetap.Proxy(NOBODY, binary=script(tmp_path / "hangs", text)).start()
    text = '[ "$1" = --version ] || exit 0; sleep 20; true'
    with pytest.raises(teetap.WrongVersion, match="its --version did not end within"):
        teetap.Proxy(NOBODY, binary=script(tmp_path / "version", text)).start()
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"rules": "drup when sv_chat"}, teetap.BadRule, "unknown action `drup`"),
        ({"rules": ["drop when sv_chat", "drop when sv_chta"]}, teetap.BadRule, "unknown message `sv_chta`"),
        ({"link": "both los 5%"}, teetap.BadRule, "a link has no parameter `los`"),
        ({"rule_files": ["/nonexistent.tap"]}, teetap.StartError, "cannot read /nonexistent.tap"),
        ({"options": ["--nope"]}, teetap.StartError, "unexpected argument '--nope'"),
        ({"record": "/nonexistent/run.pcapng"}, teetap.StartError, "cannot write the recording /nonexistent/run.pcapng"),
        ({"record": "/dev/full"}, teetap.StartError, "expected a name that ends in .pcapng"),
        ({"listen": "127.0.0.1:80000"}, teetap.StartError, "invalid value '127.0.0.1:80000'"),
        ({"listen": "0.0.0.0:0"}, teetap.StartError, "add --allow-remote"),
    ],
)
def test_a_refused_start(options: dict[str, Any], kind: type[teetap.StartError], sentence: str) -> None:
    with pytest.raises(kind) as caught:
        teetap.Proxy(NOBODY, **options).start()
    assert sentence in str(caught.value)
    assert type(caught.value) is kind and caught.value.code in (2, 3)


def test_a_server_that_is_down_is_named_by_the_wait() -> None:
    with teetap.Proxy(NOBODY) as p:
        with pytest.raises(teetap.WaitTimeout, match="nothing listens there"):
            p.wait("sv_chat", timeout=1.5)
        with p.watch("sv_chat") as watch, pytest.raises(TimeoutError):
            watch.next(0.1)


def test_refused_commands() -> None:
    with teetap.Proxy(NOBODY) as p:
        with pytest.raises(teetap.BadRule, match="unknown action `drup`; did you mean `drop`"):
            p.rule("drup when sv_chat")
        with pytest.raises(teetap.BadFilter, match="unknown message `sv_chta`"):
            p.wait("sv_chta")
        with pytest.raises(teetap.Refused, match="no session is online"):
            p.inject("s2c sv_broadcast")
        with pytest.raises(teetap.Refused, match="unknown command"):
            p.command("injct")
        assert p.stats()


def test_a_file_that_is_no_recording_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.pcapng"
    path.write_text("my notes")
    with pytest.raises(teetap.StartError):
        teetap.Proxy(NOBODY, record=path).start()
    assert path.read_text() == "my notes"


def test_an_older_recording_is_replaced(tmp_path: Path) -> None:
    for suffix in ("pcapng", "jsonl"):
        path = tmp_path / f"run.{suffix}"
        for _ in range(2):
            with teetap.Proxy(NOBODY, record=path):
                pass
        lines = [line for line in path.read_bytes().split(b"\n") if b'"event":"start"' in line]
        assert suffix == "pcapng" or len(lines) == 1


def test_a_run_that_was_killed() -> None:
    with teetap.Proxy(NOBODY) as p:
        os.kill(p.pid, 9)
        with pytest.raises(teetap.RunEnded, match="rules: the run has ended"):
            while True:
                p.rules()
        with pytest.raises(teetap.RunEnded):
            p.wait("sv_chat")
    assert p.summary is None


def test_before_and_after_the_run() -> None:
    p = teetap.Proxy(NOBODY)
    with pytest.raises(teetap.RunEnded, match="has not started"):
        p.addr
    with pytest.raises(teetap.RunEnded, match="has not started"):
        p.rules()
    assert p.stop() is None
    with p:
        pass
    assert p.stop() == p.summary is not None
    with pytest.raises(teetap.RunEnded):
        p.rules()
    with pytest.raises(teetap.StartError, match="starts only once"):
        p.start()
    assert p.findings() == []


def test_variables_of_the_environment_do_not_change_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEETAP_RULE", "drup")
    monkeypatch.setenv("TEETAP_TIMEOUT", "1ms")
    with teetap.Proxy(NOBODY) as p:
        assert p.rules() == []
