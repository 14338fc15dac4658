"""Archives whose bytes depend on the content alone: sorted names, one time, one owner.

In: folders and files. Out: a .tar.gz or .zip. Owns: the order, modes and times in it. Never: chooses the content.
"""

import gzip
import hashlib
import tarfile
import time
import zipfile
from pathlib import Path

CHUNK = 1 << 20


def write_tar_gz(path: Path, top: str, files: dict[str, Path], epoch: int) -> None:
    """Writes the files, by their names below the folder `top`."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, source in sorted(files.items()):
            info = tar.gettarinfo(source, f"{top}/{name}")
            info.mtime = epoch
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            if info.issym():
                tar.addfile(info)
                continue
            info.mode = 0o755 if is_program(source) else 0o644
            # Files with several names would otherwise become links to each other.
            info.type, info.linkname, info.size = tarfile.REGTYPE, "", source.stat().st_size
            with open(source, "rb") as file:
                tar.addfile(info, file)


def write_zip(path: Path, files: dict[str, tuple[bytes, int]], epoch: int) -> None:
    """Writes contents with their modes, in the order given."""
    # A .zip knows no time before 1980.
    when = time.gmtime(max(epoch, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, mode) in files.items():
            info = zipfile.ZipInfo(name, when)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)


def is_program(path: Path) -> bool:
    """Returns whether the file may be executed by its owner."""
    return bool(path.stat().st_mode & 0o100)


def sha256(path: Path) -> str:
    """Returns the checksum of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
