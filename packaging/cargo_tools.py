"""What Cargo's own tools make: the .deb (cargo-deb) and the bill of materials (cargo-cyclonedx).

In: staged files and Cargo.lock. Out: a .deb and a CycloneDX file. Never: builds the binary.
"""

import json
import os
from pathlib import Path

from stage import ROOT, run
from targets import Target

TOOLS = ROOT / ".tools/bin"


def write_deb(dist: Path, target: Target, epoch: int) -> None:
    """Writes the .deb of the staged files, which crates/acpd/Cargo.toml lists."""
    _cargo(
        "deb",
        "--package",
        "acpd",
        "--no-build",
        "--no-strip",
        "--target",
        target.triple,
        "--output",
        f"{dist}/",
        epoch=epoch,
    )


def write_sbom(dist: Path, target: Target, version: str, epoch: int) -> None:
    """Writes the packages that a target's binary is built of, with their licences."""
    name = "acpd-sbom"
    # The tool writes one file beside each Cargo.toml of the workspace; that of the binary is complete.
    try:
        _cargo(
            "cyclonedx",
            "--format",
            "json",
            "--spec-version",
            "1.5",
            "--target",
            target.triple,
            "--override-filename",
            name,
            "--manifest-path",
            str(ROOT / "crates/acpd/Cargo.toml"),
            epoch=epoch,
        )
        text = (ROOT / f"crates/acpd/{name}.json").read_text()
    finally:
        for stray in [*ROOT.glob(f"crates/*/{name}.json"), ROOT / f"xtask/{name}.json"]:
            stray.unlink(missing_ok=True)
    # Paths of this computer are no part of what was built.
    bill = json.loads(text.replace(f"path+file://{ROOT}/", "path+file:///"))
    bill.pop("serialNumber", None)
    (dist / f"acpd-{version}-{target.triple}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")


def _cargo(command: str, *arguments: str, epoch: int) -> None:
    cargo = os.environ.get("CARGO", "cargo")
    run(cargo, command, *arguments, PATH=f"{TOOLS}:{os.environ['PATH']}", SOURCE_DATE_EPOCH=str(epoch))
