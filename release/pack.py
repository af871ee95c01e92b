"""Packs a built program: .tar.gz, .deb, wheel, npm packages, SHA256SUMS and release notes. release/build runs it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import licences
from archives import Entry, Tree, compressed, folders, tar_gz, wheel

ROOT = Path(__file__).resolve().parents[1]

#: Maintainer in the .deb: a package needs a name and an address.
MAINTAINER = os.environ.get("TEETAP_MAINTAINER", "teetap maintainers <teetap@packages.invalid>")

SUMMARY = "man-in-the-middle proxy for the Teeworlds and DDNet protocol"

DESCRIPTION = """\
teetap sits between a game client and a game server. It prints every message
with its fields, changes messages by rules, delays and loses datagrams, records
sessions for Wireshark, and says which peer broke the protocol.
.
It is for people who write clients, servers, bots and protocol libraries for
Teeworlds 0.6 and 0.7 and DDNet."""

#: Names of architectures: Debian's, and npm's.
MACHINES = {"x86_64": ("amd64", "x64"), "aarch64": ("arm64", "arm64")}

SHELLS = {
    "bash": "share/bash-completion/completions/teetap",
    "zsh": "share/zsh/vendor-completions/_teetap",
    "fish": "share/fish/vendor_completions.d/teetap.fish",
}


def fail(text: str) -> None:
    sys.exit(f"release/pack.py: {text}")


@dataclass(frozen=True)
class Release:
    """The parts of all packages."""

    binary: Path
    machine: str
    glibc: str
    #: Seconds since 1970 of all files.
    time: int
    version: str
    third_party: str

    def printed(self, *args: str) -> bytes:
        """Returns the output of the program, without the settings of this user."""
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([self.binary, *args], check=True, capture_output=True, env=environment, cwd=folder).stdout

    def program(self) -> Entry:
        return Entry(self.binary.read_bytes(), is_program=True)

    def licences(self) -> Tree:
        own = {name: Entry((ROOT / name).read_bytes()) for name in ("LICENSE-MIT", "LICENSE-APACHE")}
        return {**own, "THIRD-PARTY": Entry(self.third_party.encode())}

    def manual(self) -> Tree:
        """Returns the man pages and completions, below a prefix such as usr."""
        tree = {path: Entry(self.printed("completions", shell)) for shell, path in SHELLS.items()}
        help = self.printed("--help").decode()
        listed = help.split("\nCommands:\n", 1)[1].split("\n\n", 1)[0]
        names = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
        pages = {"teetap.1": ["man"], **{f"teetap-{name}.1": ["man", name] for name in names if name != "help"}}
        for page, args in pages.items():
            tree[f"share/man/man1/{page}.gz"] = Entry(compressed(self.printed(*args)))
        return tree


def samples() -> Tree:
    """Returns the samples of rules by name."""
    return {path.name: Entry(path.read_bytes()) for path in sorted((ROOT / "rules/examples").glob("*.tap"))}


def below(prefix: str, tree: Tree) -> Tree:
    return {f"{prefix}/{path}": entry for path, entry in tree.items()}


def notes(version: str) -> str:
    """Returns the section of a version in the changelog; the unreleased one if the version has none."""
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for title in (version, "Unreleased"):
        for section in sections:
            head, _, body = section.partition("\n")
            if head.strip("[] ").split("]")[0].split(" ")[0] == title:
                return f"# teetap {version}\n\n{body.strip()}\n"
    raise SystemExit(f"release/pack.py: CHANGELOG.md has no section {version} and no Unreleased")


def tarball(release: Release) -> tuple[str, bytes]:
    name = f"teetap-{release.version}-{release.machine}-linux-gnu"
    documents = {path: Entry((ROOT / path).read_bytes()) for path in ("README.md", "CHANGELOG.md")}
    tree = {"bin/teetap": release.program(), **release.manual(), **documents, **release.licences(), **below("rules", samples())}
    return f"{name}.tar.gz", tar_gz(below(name, tree), release.time)


def control(release: Release, tree: Tree) -> str:
    size = sum((len(entry.data) + 1023) // 1024 for entry in tree.values()) + len(folders(tree))
    description = textwrap.indent(DESCRIPTION, " ")
    return (
        f"Package: teetap\nVersion: {release.version}\nArchitecture: {MACHINES[release.machine][0]}\nMaintainer: {MAINTAINER}\n"
        f"Installed-Size: {size}\nDepends: libc6 (>= {release.glibc})\nSection: net\nPriority: optional\n"
        f"Description: {SUMMARY}\n{description}\n"
    )


def copyright(release: Release) -> str:
    """Returns the copyright file of the .deb."""
    holder = re.search(r"^Copyright.*$", (ROOT / "LICENSE-MIT").read_text(), re.MULTILINE)
    mit = (ROOT / "LICENSE-MIT").read_text().split("\n\n", 2)[2]
    body = "\n".join(f" {line}" if line.strip() else " ." for line in mit.strip().splitlines())
    # The text must be named, because the licence of the program is a choice.
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: teetap\n\n"
        f"Files: *\nCopyright: {holder[0].removeprefix('Copyright').replace('(c)', '').strip() if holder else 'the teetap authors'}\n"
        "License: MIT or Apache-2.0\nComment: The licences of the crates in the program are in THIRD-PARTY.gz.\n\n"
        f"License: MIT\n{body}\n\nLicense: Apache-2.0\n The text is in /usr/share/common-licenses/Apache-2.0 on Debian systems.\n"
    )


def deb(release: Release) -> tuple[str, bytes]:
    doc = "usr/share/doc/teetap"
    log = (
        f"teetap ({release.version}) unstable; urgency=medium\n\n  * Release {release.version}; see NEWS.gz.\n\n"
        f" -- {MAINTAINER}  {formatdate(release.time)}\n"
    )
    tree = {
        "usr/bin/teetap": release.program(),
        **below("usr", release.manual()),
        f"{doc}/copyright": Entry(copyright(release).encode()),
        f"{doc}/changelog.gz": Entry(compressed(log.encode())),
        f"{doc}/NEWS.gz": Entry(compressed((ROOT / "CHANGELOG.md").read_bytes())),
        f"{doc}/THIRD-PARTY.gz": Entry(compressed(release.third_party.encode())),
        **below(f"{doc}/examples", samples()),
    }
    sums = "".join(f"{hashlib.md5(entry.data).hexdigest()}  {path}\n" for path, entry in sorted(tree.items()))
    files = {**tree, "DEBIAN/control": Entry(control(release, tree).encode()), "DEBIAN/md5sums": Entry(sums.encode())}
    name = f"teetap_{release.version}_{MACHINES[release.machine][0]}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        for path in ["", *folders(files)]:
            (root / path).mkdir()
            (root / path).chmod(0o755)
        for path, entry in files.items():
            (root / path).write_bytes(entry.data)
            (root / path).chmod(entry.mode)
        for path in [root, *root.rglob("*")]:
            os.utime(path, (release.time, release.time))
        command = ["dpkg-deb", "--root-owner-group", "--uniform-compression", "-Zxz", "-z9", "--threads-max=1", "--build", root, Path(folder, name)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return name, Path(folder, name).read_bytes()


def python_wheel(release: Release) -> tuple[str, bytes]:
    folder = ROOT / "kits/python"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = f"teetap-{release.version}.dist-info"
    platform = f"manylinux_{release.glibc.replace('.', '_')}_{release.machine}"
    files = [*sorted((folder / "src/teetap").glob("*.py")), folder / "src/teetap/py.typed"]
    metadata = (
        f"Metadata-Version: 2.4\nName: teetap\nVersion: {release.version}\nSummary: {project['description']}\n"
        f"Keywords: {','.join(project['keywords'])}\n"
        + "".join(f"Classifier: {classifier}\n" for classifier in project["classifiers"])
        + f"Requires-Python: {project['requires-python']}\nLicense-Expression: {project['license']}\n"
        + "".join(f"License-File: {name}\n" for name in release.licences())
        + f"Description-Content-Type: text/markdown\n\n{(folder / project['readme']).read_text()}"
    )
    points = project["entry-points"]["pytest11"]
    tree = {
        **{f"teetap/{path.name}": Entry(path.read_bytes()) for path in files},
        f"teetap-{release.version}.data/scripts/teetap": release.program(),
        f"{info}/METADATA": Entry(metadata.encode()),
        f"{info}/WHEEL": Entry(f"Wheel-Version: 1.0\nGenerator: teetap\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n".encode()),
        f"{info}/entry_points.txt": Entry(("[pytest11]\n" + "".join(f"{name} = {module}\n" for name, module in points.items())).encode()),
        **below(f"{info}/licenses", release.licences()),
    }
    return f"teetap-{release.version}-py3-none-{platform}.whl", wheel(tree, info, release.time)


def npm(release: Release) -> list[tuple[str, bytes]]:
    """Returns the npm package, and the platform package with the program."""
    folder = ROOT / "kits/npm"
    cpu = MACHINES[release.machine][1]
    files = [path for name in ("index.js", "index.d.ts", "README.md", "package.json", "lib", "bin") for path in [folder / name]]
    files = [file for path in files for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    kit = {str(path.relative_to(folder)): Entry(path.read_bytes(), is_program=path.parent.name == "bin") for path in files}
    platform = {
        "name": f"teetap-linux-{cpu}",
        "version": release.version,
        "description": f"The program teetap for Linux on {cpu}",
        "license": "MIT OR Apache-2.0",
        "os": ["linux"],
        "cpu": [cpu],
        "libc": ["glibc"],
        "files": ["bin/", "THIRD-PARTY"],
    }
    program = {"package.json": Entry((json.dumps(platform, indent=2) + "\n").encode()), "bin/teetap": release.program(), **release.licences()}
    licences = {name: entry for name, entry in release.licences().items() if name != "THIRD-PARTY"}
    return [
        (f"teetap-{release.version}.tgz", tar_gz(below("package", {**kit, **licences}), release.time, with_folders=False)),
        (f"teetap-linux-{cpu}-{release.version}.tgz", tar_gz(below("package", program), release.time, with_folders=False)),
    ]


def check_versions(version: str) -> None:
    """Fails if the kits are of another version than the program."""
    python = tomllib.loads((ROOT / "kits/python/pyproject.toml").read_text())["project"]["version"]
    package = json.loads((ROOT / "kits/npm/package.json").read_text())
    found = {"pyproject.toml": python, "package.json": package["version"], **package["optionalDependencies"]}
    wrong = [f"{name} has {other}" for name, other in found.items() if other != version]
    if wrong:
        fail(f"the version is {version}, but {', '.join(wrong)}")


def write(out: Path, files: list[tuple[str, bytes]]) -> None:
    """Replaces the folder: all files, or none if there is no room."""
    new = out.with_name(f"{out.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files))
    for name, data in [*files, ("SHA256SUMS", sums.encode())]:
        (new / name).write_bytes(data)
    shutil.rmtree(out, ignore_errors=True)
    new.rename(out)
    for name, data in sorted(files):
        print(f"{len(data):>10}  {out / name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--machine", choices=sorted(MACHINES), required=True)
    parser.add_argument("--glibc", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    check_versions(version)
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    third_party = licences.text(f"{options.machine}-unknown-linux-gnu")
    release = Release(options.binary, options.machine, options.glibc, time, version, third_party)
    if release.printed("--version").decode().split()[:2] != ["teetap", version]:
        fail(f"{options.binary} is not teetap {version}")
    packages = [tarball(release), deb(release), python_wheel(release), *npm(release)]
    write(options.out, [*packages, ("RELEASE_NOTES.md", notes(version).encode())])


if __name__ == "__main__":
    main()
