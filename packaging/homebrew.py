"""The Homebrew formula: the tarballs in dist/, with their checksums.

In: the template and the tarballs. Out: dist/acpd.rb. Never: downloads or publishes.
"""

from pathlib import Path

from archives import sha256
from stage import ROOT
from targets import TARGETS, Target

SYSTEMS = {"linux": "linux", "darwin": "macos"}
PROCESSORS = {"x64": "intel", "arm64": "arm"}


def write(dist: Path, version: str, base: str) -> Path:
    """Writes the formula. `base` is the URL below which the tarballs are."""
    chosen: dict[tuple[str, str], Target] = {}
    # glibc comes first in the table; musl is taken where there is no other.
    for target in TARGETS.values():
        if tarball(dist, version, target).is_file():
            chosen.setdefault((SYSTEMS[target.os], PROCESSORS[target.cpu]), target)
    blocks = [_block(dist, version, base, *place, target) for place, target in sorted(chosen.items())]
    text = (ROOT / "packaging/homebrew/acpd.rb.in").read_text()
    path = dist / "acpd.rb"
    path.write_text(
        text.replace("@VERSION@", version).replace("@DOWNLOADS@\n", "".join(f"{block}\n" for block in blocks))
    )
    return path


def tarball(dist: Path, version: str, target: Target) -> Path:
    """Returns the path of a target's tarball."""
    return dist / f"acpd-{version}-{target.triple}.tar.gz"


def _block(dist: Path, version: str, base: str, system: str, processor: str, target: Target) -> str:
    path = tarball(dist, version, target)
    return (
        f"  on_{system} do\n    on_{processor} do\n"
        f'      url "{base}/{path.name}"\n      sha256 "{sha256(path)}"\n    end\n  end\n'
    )
