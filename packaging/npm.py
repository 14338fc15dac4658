"""The npm packages: `acpd`, which starts the binary, and `@acpd/PLATFORM` with the binary.

In: staged files. Out: folders below dist/npm and what "npm pack" makes of them. Never: publishes.
"""

import json
import shutil
from pathlib import Path

from stage import ROOT, run
from targets import TARGETS, Target

DESCRIPTION = "Runs any ACP coding agent behind one durable, shared log"


def write_platform(dist: Path, staged: Path, target: Target, version: str) -> None:
    """Writes the package of one platform."""
    folder = _fresh(dist / "npm" / target.npm)
    (folder / "bin").mkdir()
    shutil.copy2(staged / "acpd", folder / "bin/acpd")
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "README.md").write_text(f"The binary of acpd for {target.triple}. Install the package `acpd` instead.\n")
    package = {
        "name": f"@acpd/{target.npm}",
        "version": version,
        "description": f"The binary of acpd for {target.triple}",
        "license": "Apache-2.0",
        "os": [target.os],
        "cpu": [target.cpu],
        # A musl binary is static: it runs everywhere.
        **({"libc": ["glibc"]} if target.libc == "glibc" else {}),
        "files": ["bin"],
        "preferUnplugged": True,
    }
    _pack(dist, folder, package)


def write_launcher(dist: Path, version: str) -> None:
    """Writes the package `acpd`, which depends on all platforms of this version in dist/."""
    names = sorted(target.npm for target in TARGETS.values())
    platforms = [name for name in names if (dist / f"acpd-{name}-{version}.tgz").is_file()]
    folder = _fresh(dist / "npm/acpd")
    (folder / "bin").mkdir()
    launcher = folder / "bin/acpd.js"
    shutil.copyfile(ROOT / "packaging/npm/launcher.js", launcher)
    launcher.chmod(0o755)
    for name in ("LICENSE", "README.md"):
        shutil.copyfile(ROOT / name, folder / name)
    package = {
        "name": "acpd",
        "version": version,
        "description": DESCRIPTION,
        "license": "Apache-2.0",
        "bin": {"acpd": "bin/acpd.js"},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"@acpd/{name}": version for name in platforms},
    }
    _pack(dist, folder, package)


def _fresh(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def _pack(dist: Path, folder: Path, package: dict) -> None:
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")
    run("npm", "pack", "--silent", "--pack-destination", str(dist), str(folder))
