"""Archives whose bytes depend on their contents only: no time, no user, sorted names."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass(frozen=True)
class Entry:
    """A file of a package."""

    data: bytes
    is_program: bool = False

    @property
    def mode(self) -> int:
        return 0o755 if self.is_program else 0o644


#: Files of a package by path.
Tree = dict[str, Entry]


def compressed(data: bytes) -> bytes:
    """Returns data in gzip's format, without name and time."""
    return gzip.compress(data, 9, mtime=0)


def folders(tree: Tree) -> list[str]:
    """Returns the folders of a tree, parents first."""
    found = {"/".join(parts[:depth]) for path in tree for parts in [path.split("/")] for depth in range(1, len(parts))}
    return sorted(found)


def tar_gz(tree: Tree, time: int, with_folders: bool = True) -> bytes:
    """Returns a tree as a .tar.gz."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in folders(tree) if with_folders else []:
            folder = tarfile.TarInfo(path)
            folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o755, time
            tar.addfile(folder)
        for path, entry in sorted(tree.items()):
            file = tarfile.TarInfo(path)
            file.size, file.mode, file.mtime = len(entry.data), entry.mode, time
            tar.addfile(file, io.BytesIO(entry.data))
    return compressed(buffer.getvalue())


def wheel(tree: Tree, info: str, time: int) -> bytes:
    """Returns a tree as a Python wheel, with the list of its files in the folder ``info``."""
    record = "".join(f"{path},{digest(entry.data)},{len(entry.data)}\n" for path, entry in sorted(tree.items()))
    record += f"{info}/RECORD,,\n"
    moment = datetime.fromtimestamp(time, timezone.utc)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # The list is the last file, as the format recommends.
        for path, entry in [*sorted(tree.items()), (f"{info}/RECORD", Entry(record.encode()))]:
            file = zipfile.ZipInfo(path, moment.timetuple()[:6])
            file.external_attr = (0o100000 | entry.mode) << 16
            file.create_system = 3
            file.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(file, entry.data, compresslevel=9)
    return buffer.getvalue()


def digest(data: bytes) -> str:
    """Returns the checksum of a file in the list of a wheel."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
