"""The source tarball: the files of the repository with the built web UI and documents, which "cargo install" embeds without Node.

In: a clone with web/dist and docs/dist. Out: one tarball. Owns: what belongs to it. Never: contains fetched or ignored files.
"""

from pathlib import Path

from archives import write_tar_gz
from stage import ROOT, run

BUILT = ("web/dist", "docs/dist")


def write(dist: Path, version: str, epoch: int) -> Path:
    """Writes the tarball from the tracked files as they are on the disk."""
    if not (ROOT / ".git").exists():
        raise SystemExit(
            "dist: the source tarball is made from the files that git tracks: run make dist in a clone of the repository"
        )
    names = [name for name in run("git", "ls-files", "-z").split("\0") if name and (ROOT / name).is_file()]
    files = {name: ROOT / name for name in names}
    for folder in BUILT:
        if not (ROOT / folder / "index.html").is_file():
            raise SystemExit(f'dist: {folder} is not built: run "make web docs"')
        files |= {path.relative_to(ROOT).as_posix(): path for path in (ROOT / folder).rglob("*") if path.is_file()}
    path = dist / f"acpd-{version}-source.tar.gz"
    write_tar_gz(path, f"acpd-{version}", files, epoch)
    return path
