from __future__ import annotations

from typing import Iterator

import pytest

from peers import Server

pytest_plugins = ["teetap.pytest_plugin", "pytester"]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()
