"""Runs the install script with tarballs that the test makes: they need no build."""

import os
import platform
import shutil
import unittest
from pathlib import Path

import homebrew
import installer
from archives import write_tar_gz
from scratch import Scratch, files_below
from targets import TARGETS

LINUX = [target for target in TARGETS.values() if target.is_linux and target.machine == platform.machine()]
INSTALLED = {
    "bin/acpd",
    "share/man/man1/acpd.1",
    "share/bash-completion/completions/acpd",
    "share/zsh/site-functions/_acpd",
    "share/fish/vendor_completions.d/acpd.fish",
}


@unittest.skipUnless(LINUX and shutil.which("curl"), "it needs Linux and curl")
class Script(Scratch):
    """The script installs, upgrades, and installs nothing that has another checksum."""

    def setUp(self) -> None:
        super().setUp()
        self.dist = self.folder / "dist's"
        self.dist.mkdir()
        self.variables["PREFIX"] = str(self.prefix)

    def script(self, version: str, targets=LINUX) -> Path:
        """Makes the tarballs of a version and their script."""
        staged = self.folder / f"staged-{version}"
        for name in ("acpd", "man/acpd.1", "completions/acpd.bash", "completions/_acpd", "completions/acpd.fish"):
            file = staged / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"#!/bin/sh\necho acpd {version}\n")
            file.chmod(0o755 if name == "acpd" else 0o644)
        files = {str(path.relative_to(staged)): path for path in staged.rglob("*") if path.is_file()}
        for target in targets:
            top = f"acpd-{version}-{target.triple}"
            write_tar_gz(homebrew.tarball(self.dist, version, target), top, files, 0)
        return installer.write(self.dist, version, f"file://{self.dist}")

    def test_install_and_upgrade(self) -> None:
        for version in ("0.0.1", "0.0.2"):
            said = self.run_command("sh", self.script(version))
            self.assertIn(f"acpd {version} is installed in {self.prefix}/bin", said)
            self.assertEqual(self.run_command(self.prefix / "bin/acpd").strip(), f"acpd {version}")
            self.assertEqual(set(files_below(self.prefix)), INSTALLED)
        self.variables["PATH"] = f"{self.prefix}/bin:{os.environ['PATH']}"
        self.assertIn('Run "acpd" to begin', self.run_command("sh", self.script("0.0.2")))

    def test_another_checksum_installs_nothing(self) -> None:
        script = self.script("0.0.1")
        for target in LINUX:
            with open(homebrew.tarball(self.dist, "0.0.1", target), "ab") as tarball:
                tarball.write(b"x")
        self.assertIn("another SHA-256", self.run_command("sh", script, code=1))
        self.assertEqual(set(files_below(self.prefix)), set())

    def test_a_part_of_the_script_does_nothing(self) -> None:
        text = self.script("0.0.1").read_text()
        part = self.folder / "part.sh"
        part.write_text(text[: text.index('echo "acpd $VERSION is installed')])
        self.run_command("sh", part, code=2)
        self.assertEqual(set(files_below(self.prefix)), set())

    def test_static_binaries_serve_where_there_are_no_others(self) -> None:
        musl = [target for target in LINUX if target.libc == "musl"]
        said = self.run_command("sh", self.script("0.0.3", musl))
        self.assertIn("acpd 0.0.3 is installed", said)

    def test_a_system_without_a_package_is_named(self) -> None:
        others = [target for target in TARGETS.values() if target.machine != platform.machine()]
        said = self.run_command("sh", self.script("0.0.4", others), code=1)
        self.assertIn(f"no package of acpd 0.0.4 for Linux on {platform.machine()}", said)


if __name__ == "__main__":
    unittest.main()
