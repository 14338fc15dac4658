"""The files that each package takes: the stripped binary, its man pages and completions, and texts.

In: a binary. Out: a folder of files. Owns: what a package contains. Never: writes a package.
"""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Beyond this, something large was embedded by mistake.
LARGEST_BINARY = 20 << 20

# Units by their names in packaging/systemd, with the path of acpd that each has for other installations.
UNITS = {
    "user/acpd.service": "%h/.cargo/bin/acpd",
    "user/acpd.socket": None,
    "system/acpd@.service": "/usr/local/bin/acpd",
}

COMPLETIONS = {"bash": "acpd.bash", "zsh": "_acpd", "fish": "acpd.fish"}


def fill(folder: Path, binary: Path, reference: Path, strip: str, version: str) -> None:
    """Fills the folder anew. `reference` is a binary of the same version that runs here and writes man pages."""
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "man").mkdir(parents=True)
    (folder / "completions").mkdir()
    (folder / "monitoring").mkdir()
    program = folder / "acpd"
    shutil.copyfile(binary, program)
    run(strip, str(program))
    program.chmod(0o755)

    printed = run(str(reference), "--version").strip()
    if printed != f"acpd {version}":
        raise SystemExit(f'dist: {reference} prints "{printed}", but Cargo.toml has version {version}: build it again')
    run(str(reference), "man", str(folder / "man"))
    for shell, name in COMPLETIONS.items():
        (folder / "completions" / name).write_text(run(str(reference), "completions", shell))
    for source in (ROOT / "packaging/monitoring").iterdir():
        shutil.copyfile(source, folder / "monitoring" / source.name)
    for source in (ROOT / "LICENSE", ROOT / "README.md", ROOT / "packaging/config.example.toml"):
        shutil.copyfile(source, folder / source.name)


def fill_units(folder: Path, program: str) -> None:
    """Fills the folder anew with the units of systemd, for a program that is installed at a fixed path."""
    if folder.exists():
        shutil.rmtree(folder)
    for name, elsewhere in UNITS.items():
        text = (ROOT / "packaging/systemd" / name).read_text()
        if elsewhere:
            command = f"ExecStart={elsewhere} serve"
            if command not in text:
                raise SystemExit(f'dist: packaging/systemd/{name} has no line "{command}"')
            text = text.replace(command, f"ExecStart={program} serve")
        unit = folder / name
        unit.parent.mkdir(parents=True, exist_ok=True)
        # The first comment says where to put the file, which the package has done.
        lines = text.splitlines(keepends=True)
        while lines[0].startswith("#"):
            del lines[0]
        unit.write_text("".join(lines))


def check_size(program: Path) -> None:
    """Refuses a release binary above the limit."""
    size = program.stat().st_size
    if size > LARGEST_BINARY:
        raise SystemExit(
            f"dist: the stripped binary has {size} bytes, more than the limit {LARGEST_BINARY} (packaging/stage.py)"
        )


def files(folder: Path) -> dict[str, Path]:
    """Returns the files below the folder by their relative names."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def run(*command: str, **variables: str) -> str:
    """Returns the output of a command, or stops with its errors."""
    try:
        ended = subprocess.run(
            command, check=False, capture_output=True, cwd=ROOT, text=True, env={**os.environ, **variables}
        )
    except FileNotFoundError:
        raise SystemExit(f"dist: {command[0]} is not installed, which the packages are made with") from None
    if ended.returncode != 0:
        raise SystemExit(f"dist: {' '.join(command)} failed with exit code {ended.returncode}:\n{ended.stderr}")
    return ended.stdout
