"""Scratch folders, and what an installed acpd must do in them.

In: a program. Out: failures of the test that uses it. Owns: the home folder and the daemon of a test. Never: touches the real home.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SECONDS = 300


class Scratch(unittest.TestCase):
    """A test with folders of its own for the home, the work and the installation."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="acpd-dist-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.home, self.work, self.prefix = (self.folder / name for name in ("home", "work", "prefix"))
        for folder in (self.home, self.work, self.prefix):
            folder.mkdir()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ACPD_", "XDG_", "PYTHON", "npm_"))
        }
        # A port of its own: other daemons of this computer run on.
        self.variables = {
            **kept,
            "HOME": str(self.home),
            "ACPD_LISTEN": "127.0.0.1:0",
            "npm_config_cache": str(self.folder / "npm"),
        }

    def run_command(self, *command: str | Path, code: int = 0, **options) -> str:
        """Returns what the command printed, and fails if its exit code is another."""
        ended = subprocess.run(
            [str(word) for word in command],
            **{"cwd": self.work, "env": self.variables, "timeout": SECONDS, **options},
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(ended.returncode, code, f"{command} printed:\n{ended.stdout}")
        return ended.stdout

    def check_program(self, *program: str | Path, version: str, health: list[str] | None = None) -> None:
        """Runs the version, a turn of the demo agent, which starts a daemon, and the daemon's end."""
        self.assertEqual(self.run_command(*program, "--version").strip(), f"acpd {version}")
        try:
            turn = self.run_command(
                *program, "run", "--agent", "demo", "--permissions", "allow", "Show me what you can do"
            )
            self.assertIn("Done: `acpd-demo/notes.md`", turn)
            self.assertIn("Hello, world.", (self.work / "acpd-demo/notes.md").read_text())
            self.assertIn(f"running: acpd {version}", self.run_command(*program, "status"))
            if health:
                self.run_command(*program, *health)
        finally:
            stopped = self.run_command(*program, "stop")
        self.assertIn("stopped", stopped)
        if health:
            self.run_command(*program, *health, code=6)

    def check_data_is_left(self) -> None:
        """Fails if removing the program removed the log."""
        self.assertTrue((self.home / ".local/state/acpd/log.db").is_file())


def files_below(folder: Path) -> set[str]:
    """Returns the relative names of all files and links below the folder, without Python's compiled ones."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {path.relative_to(folder).as_posix() for path in found if "__pycache__" not in path.parts}
