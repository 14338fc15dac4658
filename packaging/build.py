"""Builds the installation packages of one target into dist/: "make dist" runs this.

In: a binary. Out: the packages, a formula, an install script, a bill of materials and SHA256SUMS. Never: compiles or publishes.
"""

import argparse
import os
import re
from pathlib import Path

import cargo_tools
import homebrew
import installer
import npm
import sources
import stage
import targets
import wheel
from archives import sha256, write_tar_gz
from stage import ROOT

DIST = ROOT / "dist"
FOREVER = 315532800  # 1980, where there is no commit to take the time from


def main() -> None:
    """Reads the arguments and builds all packages, or only checks the target."""
    arguments = parser().parse_args()
    if problem := targets.why_not_built(arguments.target):
        raise SystemExit(f"dist: {problem}")
    if arguments.check_target:
        return
    if not re.fullmatch(r"\d+\.\d+\.\d+", arguments.version):
        raise SystemExit(
            f'dist: the version "{arguments.version}" of Cargo.toml is not of the form 1.2.3: '
            "Debian and PyPI write other versions differently"
        )
    target = targets.TARGETS[arguments.target]
    epoch = commit_time()
    DIST.mkdir(exist_ok=True)
    remove_other_versions(arguments.version)
    staged = DIST / "stage"
    stage.fill(staged, arguments.binary, arguments.reference or arguments.binary, arguments.strip, arguments.version)
    if not arguments.any_size:
        stage.check_size(staged / "acpd")
    write_tar_gz(
        homebrew.tarball(DIST, arguments.version, target),
        f"acpd-{arguments.version}-{target.triple}",
        stage.files(staged),
        epoch,
    )
    wheel.write(DIST, staged, target, arguments.version, epoch)
    npm.write_platform(DIST, staged, target, arguments.version)
    cargo_tools.write_sbom(DIST, target, arguments.version, epoch)
    if target.is_linux:
        stage.fill_units(DIST / "units", "/usr/bin/acpd")
        cargo_tools.write_deb(DIST, target, epoch)
    # These cover all targets that are in dist/.
    npm.write_launcher(DIST, arguments.version)
    url = arguments.url or f"file://{DIST}"
    homebrew.write(DIST, arguments.version, url)
    installer.write(DIST, arguments.version, url)
    sources.write(DIST, arguments.version, epoch)
    for line in write_checksums():
        print(line)


def remove_other_versions(version: str) -> None:
    """Removes packages of other versions, which the checksums would otherwise cover."""
    for path in DIST.glob("acpd[-_]*"):
        if path.is_file() and not re.search(rf"[-_]{re.escape(version)}[-.]", path.name):
            path.unlink()


def write_checksums() -> list[str]:
    """Writes SHA256SUMS over all packages, and returns a line with the size of each."""
    packages = sorted(path for path in DIST.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    (DIST / "SHA256SUMS").write_text("".join(f"{sha256(path)}  {path.name}\n" for path in packages))
    return [
        f"{path.stat().st_size / 1e6:8.2f} MB  {path.relative_to(ROOT)}" for path in [DIST / "stage/acpd", *packages]
    ]


def commit_time() -> int:
    """Returns the time that all packages carry: SOURCE_DATE_EPOCH, or that of the last commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    return int(stage.run("git", "log", "-1", "--format=%ct")) if (ROOT / ".git").exists() else FOREVER


def parser() -> argparse.ArgumentParser:
    """Returns the command line."""
    made = argparse.ArgumentParser(prog="dist", description=__doc__)
    made.add_argument("--target", default=targets.host(), help="Rust target of the binary")
    made.add_argument("--check-target", action="store_true", help="only check that the target can be built here")
    made.add_argument("--binary", type=Path, help="the built binary")
    made.add_argument(
        "--reference", type=Path, help="a binary that runs here and writes man pages; default: the binary itself"
    )
    made.add_argument("--version", help="the version of acpd")
    made.add_argument("--strip", default="strip", help="the program that removes symbols")
    made.add_argument("--url", help="where the tarballs can be downloaded; default: dist/ on this computer")
    made.add_argument("--any-size", action="store_true", help="accept a binary that was not built for release")
    return made


if __name__ == "__main__":
    main()
