"""The wheel for PyPI: the binary as a script, so that `uvx acpd` and `pipx run acpd` start it.

In: staged files. Out: a wheel. Owns: its metadata and tags. Never: needs a build tool or network access.
"""

import base64
import hashlib
import re
from pathlib import Path

from archives import write_zip
from stage import ROOT, run
from targets import Target

SUMMARY = "Runs any ACP coding agent behind one durable, shared log"
# Libraries that every manylinux system has (PEP 600).
ALLOWED = {
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}


def write(dist: Path, staged: Path, target: Target, version: str, epoch: int) -> Path:
    """Writes the wheel of one platform."""
    tag = f"py3-none-{platform(staged / 'acpd', target)}"
    info = f"acpd-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: acpd\nVersion: {version}\nSummary: {SUMMARY}\nLicense-Expression: Apache-2.0\n"
        f"License-File: LICENSE\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    )
    files = {
        f"acpd-{version}.data/scripts/acpd": ((staged / "acpd").read_bytes(), 0o755),
        f"{info}/METADATA": (metadata.encode() + (ROOT / "README.md").read_bytes(), 0o644),
        f"{info}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: acpd\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644),
        f"{info}/licenses/LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
    }
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, (content, _) in files.items()]
    files[record] = ("".join([*lines, f"{record},,\n"]).encode(), 0o644)
    path = dist / f"acpd-{version}-{tag}.whl"
    write_zip(path, files, epoch)
    return path


def platform(program: Path, target: Target) -> str:
    """Returns the platform tag: for glibc, with the newest version that the binary's symbols need."""
    if not target.is_linux:
        return f"macosx_11_0_{target.machine}"
    if target.libc == "musl":
        return f"musllinux_1_1_{target.machine}"
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", "--wide", str(program))))
    if needed - ALLOWED:
        raise SystemExit(f"dist: the binary needs {', '.join(sorted(needed - ALLOWED))}, which a wheel may not rely on")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", "--wide", str(program)))
    if not versions:
        raise SystemExit(f"dist: {program} names no version of glibc: is it a binary of {target.triple}?")
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    return f"manylinux_{major}_{minor}_{target.machine}"


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
