"""The kit between the npm client and Debian's DDNet server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Callable

import pytest
import teetap
from peers import Bot, Server


def test_a_lost_start_info_still_joins(server: Server, tmp_path: Path) -> None:
    record = tmp_path / "run.pcapng"
    with teetap.Proxy(server.address, rules=["lost: lose when cl_start_info first 1"], record=record) as p:
        with Bot(p.addr) as bot:
            bot.wait("^joined guest$")
            info = p.wait("c2s and cl_start_info and resend", timeout=20)
        assert info.fields["name"] == "guest"
        assert [rule["hits"] for rule in p.rules()] == [1]
    assert p.findings(side="client", severity="error") == []
    assert p.findings(side="server", severity="error") == []
    assert p.summary is not None and p.summary["exit"] == 0
    assert record.stat().st_size > 1000


def test_an_injected_chat_is_an_event_of_the_client(server: Server) -> None:
    with teetap.Proxy(server.address) as p, Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        p.inject("s2c sv_chat{client_id: -1, message: \"injected\"}")
        bot.wait(r"^chat \*\*\* injected$")
        p.inject(dir="s2c", name="sv_chat", fields={"client_id": -1, "message": "a \"quoted\" word"})
        bot.wait(r'^chat \*\*\* a "quoted" word$')
        own = p.wait('s2c and sv_chat.message contains "quoted"')
        assert own["origin"] == "user"


def test_a_rule_in_the_middle_acts_until_it_is_removed(server: Server) -> None:
    with teetap.Proxy(server.address) as p, Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        with p.rule('loud: set .message = "changed" when cl_say') as rule:
            bot.type("say original")
            bot.wait("^chat guest: changed$")
            assert rule.hits == 1
            rule.off()
            bot.type("say second")
            bot.wait("^chat guest: second$")
            rule.on()
        bot.type("say third")
        bot.wait("^chat guest: third$")
        assert p.rules() == []


def test_a_wait_finds_messages_of_the_past_in_their_order(server: Server) -> None:
    with teetap.Proxy(server.address) as p, Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        for number in range(3):
            bot.type(f"say line {number}")
            bot.wait(f"^chat guest: line {number}$")
        assert [p.wait("cl_say").fields["message"] for _ in range(3)] == ["line 0", "line 1", "line 2"]
        with pytest.raises(teetap.WaitTimeout, match="no message matched 'cl_say' for 0.3 s"):
            p.wait("cl_say", timeout=0.3)
        bot.type("say later")
        assert p.wait("cl_say").fields["message"] == "later"
        assert len(p.seen("cl_say")) == 4


def test_a_watch_has_all_messages_from_its_creation_on(server: Server) -> None:
    with teetap.Proxy(server.address) as p, Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        with p.watch("cl_say") as watch:
            for number in range(20):
                bot.type(f"say {number}")
            found = [watch.next().fields["message"] for _ in range(20)]
        assert found == [str(number) for number in range(20)] and watch.missed == 0


def test_a_held_message_is_edited_and_released(server: Server) -> None:
    with teetap.Proxy(server.address, rules="chat: pause max 30s when cl_say") as p, Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        bot.type("say hello")
        p.wait("cl_say")
        [held] = p.held()
        assert (held.name, held.fields["message"], held["rule"]) == ("cl_say", "hello", "chat")
        held.edit(fields={"message": "HELLO"})
        held.release()
        bot.wait("^chat guest: HELLO$")
        assert p.held() == []
        with pytest.raises(teetap.Refused, match="no held message 1"):
            held.drop()


def test_a_close_reaches_the_client_with_its_reason(server: Server) -> None:
    with teetap.Proxy(server.address) as p, Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        p.close("kicked by the test", side="client")
        bot.wait("^disconnected by server 'kicked by the test'$")


def test_a_rule_with_expect_fails_the_block(server: Server) -> None:
    rule = "answer: expect sv_emoticon within 300ms when cl_say"
    with pytest.raises(teetap.RuleFailed, match='rule "answer" failed the run'):
        with teetap.Proxy(server.address, rules=rule) as p, Bot(p.addr) as bot:
            bot.wait("^joined guest$")
            bot.type("say hello")
            with pytest.raises(teetap.RunEnded, match='wait: rule "answer" failed the run'):
                p.wait("sv_emoticon", timeout=20)


def test_the_asyncio_twin(server: Server) -> None:
    async def play() -> None:
        async with teetap.AsyncProxy(server.address, rules="chat: pause max 30s when cl_say") as p:
            with Bot(p.addr) as bot:
                await asyncio.to_thread(bot.wait, "^joined guest$")
                watch = await p.watch("cl_say")
                wait = asyncio.create_task(watch.next(20))
                bot.type("say hello")
                assert (await wait).fields["message"] == "hello"
                await watch.close()
                assert (await p.wait("cl_say")).fields["message"] == "hello"
                [held] = await p.held()
                held.release()
                await asyncio.to_thread(bot.wait, "^chat guest: hello$")
                async with await p.rule("quiet: drop when sv_motd") as rule:
                    assert await rule.hits() == 0
                await p.inject("s2c sv_broadcast{message: \"hi\"}")
                assert (await p.wait("sv_broadcast")).name == "sv_broadcast"
                lost = asyncio.create_task(p.wait("sv_vote_set", timeout=1))
                await asyncio.sleep(0.1)
                lost.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await lost
                with pytest.raises(teetap.BadFilter):
                    await p.wait("sv_chta")
        assert p.summary is not None and p.summary["ended_by"]["kind"] == "stdin_closed"
        assert await p.findings(side="client", severity="error") == []

    asyncio.run(play())


FAILING = """
from peers import Bot

def test_fails(teetap_proxy):
    p = teetap_proxy({address!r}, rules=["late: delay 700ms when cl_start_info"])
    with Bot(p.addr) as bot:
        bot.wait("^joined guest$")
        assert 1 == 2

def test_passes(teetap_proxy):
    teetap_proxy({address!r})

def test_expects(teetap_proxy):
    p = teetap_proxy({address!r}, rules=["never: expect sv_emoticon within 100ms when cl_start_info"])
    with Bot(p.addr) as bot:
        bot.wait("^disconnected")
"""


def test_a_failed_test_carries_its_recording_and_first_finding(
    server: Server, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Path(teetap.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{source}:{Path(__file__).parent}")
    pytester.makepyfile(FAILING.format(address=server.address))
    kept = tmp_path / "kept"
    result = pytester.runpytest_subprocess("-p", "teetap.pytest_plugin", "-p", "no:cacheprovider", "--teetap-recordings", str(kept))
    result.assert_outcomes(failed=1, passed=2, errors=1)
    text = result.stdout.str()
    assert "first finding: " in text, text
    assert f"repeat: teetap run {server.address} --rule 'late: delay 700ms when cl_start_info' --seed " in text, text
    assert 'rule "never" failed the run' in text, text
    names = sorted(path.name for path in kept.iterdir())
    assert len(names) == 2 and all(name.endswith("teetap-1.pcapng") for name in names), names
    for path in kept.iterdir():
        assert f"recording: {path}" in text
        assert path.read_bytes().startswith(b"\n\r\r\n") and path.stat().st_size > 5000


def test_the_fixture_starts_several(server: Server, teetap_proxy: Callable[..., teetap.Proxy]) -> None:
    first, second = teetap_proxy(server.address), teetap_proxy(server.address)
    assert first.addr != second.addr and first.recording != second.recording
