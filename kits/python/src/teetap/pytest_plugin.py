"""pytest plugin: the fixture ``teetap_proxy`` starts proxies, and a failed test reports their recordings and first findings."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Callable, Generator, Optional

import pytest

from ._proxy import Proxy
from .errors import RuleFailed, TeetapError

#: Proxies of the running test.
PROXIES = pytest.StashKey[list[Proxy]]()

#: True if the test itself failed.
FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("teetap")
    group.addoption(
        "--teetap-recordings",
        metavar="DIR",
        help="copy the recordings of failed tests to DIR, for example to upload them in continuous integration",
    )


@pytest.fixture
def teetap_proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Callable[..., Proxy], None, None]:
    """Starts proxies: ``proxy = teetap_proxy("127.0.0.1:8303", rules=[...])``, with the arguments of :class:`teetap.Proxy`.

    They are stopped at the end of the test. A rule with ``fail`` or ``expect`` that failed the run fails the test.
    """
    proxies: list[Proxy] = request.node.stash.setdefault(PROXIES, [])

    def start(target: str, **options: Any) -> Proxy:
        options.setdefault("record", tmp_path / f"teetap-{len(proxies) + 1}.pcapng")
        proxy = Proxy(target, **options).start()
        proxies.append(proxy)
        return proxy

    yield start
    for proxy in proxies:
        proxy.stop()
    failed = next(filter(None, (proxy.failed_rule() for proxy in proxies)), None)
    if failed is not None and not request.node.stash.get(FAILED, False):
        raise RuleFailed(failed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    proxies = item.stash.get(PROXIES, None)
    if not proxies or not report.failed:
        return report
    if report.when == "call":
        item.stash[FAILED] = True
    # The findings of a run are complete once it has ended, and a failed test needs it no more.
    folder = item.config.getoption("--teetap-recordings")
    for proxy in proxies:
        proxy.stop()
        recording = proxy.recording
        if folder:
            recording = kept(recording, Path(folder), item.nodeid)
        report.sections.append(("teetap", described(proxy, recording)))
        report.user_properties.append(("teetap_recording", str(recording)))
    return report


def described(proxy: Proxy, recording: Path) -> str:
    """Returns the recording of a run, what happened, and its first finding."""
    lines = [f"recording: {recording}"]
    lines += [f"warning: {warning}" for warning in proxy.warnings[-3:]]
    failed = proxy.failed_rule()
    if failed is not None:
        lines.append(failed)
    lines.append(f"first finding: {first_finding(proxy) or 'none'}")
    lines.append(f"repeat: {proxy.repeat}")
    return "\n".join(lines)


def first_finding(proxy: Proxy) -> Optional[str]:
    """Returns the most important finding as a sentence, or why there are none."""
    try:
        found = proxy.findings()
    except TeetapError as error:
        return str(error)
    return str(found[0]) if found else None


def kept(recording: Path, folder: Path, test: str) -> Path:
    """Copies a recording to a folder, under the name of its test. Returns the path of the copy."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', test).strip('_')}-{recording.name}"
    try:
        shutil.copyfile(recording, copy)
    except OSError:
        return recording
    copy.chmod(0o600)
    return copy
