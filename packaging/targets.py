"""The targets that acpd is packaged for, and their names in each package format.

In: a Rust target. Out: its names. Owns: the table. Never: builds anything.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A Rust target and what others call it."""

    triple: str
    npm: str  # the name below "@acpd/"
    os: str  # as Node's process.platform
    cpu: str  # as Node's process.arch
    machine: str  # as in the tags of wheels
    libc: str = ""  # as npm's "libc"; empty where the system has only one

    @property
    def is_linux(self) -> bool:
        return self.os == "linux"


TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "linux-x64", "linux", "x64", "x86_64", "glibc"),
        Target("aarch64-unknown-linux-gnu", "linux-arm64", "linux", "arm64", "aarch64", "glibc"),
        Target("x86_64-unknown-linux-musl", "linux-x64-musl", "linux", "x64", "x86_64", "musl"),
        Target("aarch64-unknown-linux-musl", "linux-arm64-musl", "linux", "arm64", "aarch64", "musl"),
        Target("x86_64-apple-darwin", "darwin-x64", "darwin", "x64", "x86_64"),
        Target("aarch64-apple-darwin", "darwin-arm64", "darwin", "arm64", "arm64"),
    )
}


def host() -> str:
    """Returns the target of this computer's compiler."""
    lines = _output("rustc", "-vV").splitlines()
    return next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))


def why_not_built(triple: str) -> str | None:
    """Returns why binaries of the target cannot be built here, or None."""
    if triple not in _output("rustc", "--print", "target-list").splitlines():
        return f'the compiler knows no target "{triple}": "rustc --print target-list" prints the names'
    if triple not in TARGETS:
        return f'acpd has no packages for "{triple}", but for {", ".join(TARGETS)}'
    folder = _output("rustc", "--print", "target-libdir", "--target", triple).strip()
    if not any(Path(folder).glob("libstd-*")):
        return (
            f'the standard library of "{triple}" is not installed ({folder} has none): '
            f'run "rustup target add {triple}"; its linker is needed, too'
        )
    return None


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
