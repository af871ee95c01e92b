"""The licences of the crates that are part of the program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

#: Start of the names of files with licences, in lower case.
NAMES = ("license", "licence", "copying", "notice", "unlicense")


def crates(target: str) -> list[dict]:
    """Returns the packages that the program links, of others than this project, by name and version."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] == "teetap" and package["source"] is None]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    found = [packages[id] for id in seen if packages[id]["source"] is not None]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def text(target: str) -> str:
    """Returns the names, licences and licence texts of the crates; each text once."""
    found = crates(target)
    lines = ["teetap contains the following crates.", ""]
    texts: dict[str, list[str]] = {}
    for package in found:
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license']}")
        for path in sorted(Path(package["manifest_path"]).parent.iterdir()):
            if path.is_file() and path.name.lower().startswith(NAMES):
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
    for body, names in sorted(texts.items(), key=lambda item: item[1]):
        lines += ["", "-" * 80, ", ".join(dict.fromkeys(names)), "", body]
    return "\n".join(lines) + "\n"
