"""The install script: the tarballs in dist/, with their checksums.

In: the template and the tarballs. Out: dist/install.sh. Never: downloads or publishes.
"""

import shlex
from pathlib import Path

from archives import sha256
from homebrew import tarball
from stage import ROOT
from targets import TARGETS, Target

SYSTEMS = {"linux": "Linux", "darwin": "Darwin"}


def write(dist: Path, version: str, base: str) -> Path:
    """Writes the script. `base` is the URL below which the tarballs are."""
    chosen: dict[str, Target] = {}
    for target in TARGETS.values():
        if tarball(dist, version, target).is_file():
            chosen[_system(target, target.libc)] = target
    for target in list(chosen.values()):
        # The binaries for musl are static.
        if target.libc == "musl":
            chosen.setdefault(_system(target, "glibc"), target)
    cases = [
        f"    {system}) triple={target.triple} sha256={sha256(tarball(dist, version, target))} ;;\n"
        for system, target in sorted(chosen.items())
    ]
    text = (ROOT / "packaging/installer/install.sh.in").read_text()
    path = dist / "install.sh"
    path.write_text(
        text.replace("@VERSION@", version).replace("@BASE@", shlex.quote(base)).replace("@TARGETS@\n", "".join(cases))
    )
    path.chmod(0o755)
    return path


def _system(target: Target, libc: str) -> str:
    """Returns how the script names a system: by uname, and the C library."""
    machine = "arm64" if target.os == "darwin" and target.cpu == "arm64" else target.machine
    return f"{SYSTEMS[target.os]}-{machine}-{libc}"
