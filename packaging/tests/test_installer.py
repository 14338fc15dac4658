"""Runs the install script with tarballs that the test makes: they need no build."""

import os
import platform
import shlex
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


# What the script needs, without a program that downloads or makes checksums.
TOOLS = ["chmod", "cp", "cut", "dirname", "grep", "gzip", "ldd", "mkdir", "mktemp", "mv", "rm", "sh", "tar", "uname"]
# The last two words are the file and the URL. The wget of BusyBox fails on options that it does not know.
DOWNLOADERS = {
    "curl": '[ "${*%%--output *}" = "--fail --silent --show-error --location --proto =https " ] || exit 1',
    "wget": '[ "$#-$1-$2" = 4--q--O ] || exit 1',
}


@unittest.skipUnless(LINUX, "it needs Linux")
class Script(Scratch):
    """The script installs, upgrades, and installs nothing that has another checksum."""

    def setUp(self) -> None:
        super().setUp()
        self.dist = self.folder / "dist's"
        self.dist.mkdir()
        self.variables["PREFIX"] = str(self.prefix)

    def script(self, version: str, targets=LINUX, base: str | None = None) -> Path:
        """Makes the tarballs of a version and their script, which finds them below `base`, or else where they are."""
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
        return installer.write(self.dist, version, base or f"file://{self.dist}")

    def with_programs(self, *names: str) -> Path:
        """Lets the script find only TOOLS and these programs. Returns their folder."""
        programs = self.folder / "programs"
        shutil.rmtree(programs, ignore_errors=True)
        programs.mkdir()
        for name in (*TOOLS, *names):
            (programs / name).symlink_to(shutil.which(name))
        self.variables["PATH"] = str(programs)
        return programs

    def test_install_and_upgrade(self) -> None:
        for version in ("0.0.1", "0.0.2"):
            said = self.run_command("sh", self.script(version))
            self.assertIn(f"acpd {version} is installed in {self.prefix}/bin", said)
            self.assertEqual(self.run_command(self.prefix / "bin/acpd").strip(), f"acpd {version}")
            self.assertEqual(set(files_below(self.prefix)), INSTALLED)
        self.variables["PATH"] = f"{self.prefix}/bin:{os.environ['PATH']}"
        self.assertIn('Run "acpd" to begin', self.run_command("sh", self.script("0.0.2")))

    def test_download(self) -> None:
        script = self.script("0.0.1", base="https://example.invalid/acpd")
        for name, check in DOWNLOADERS.items():
            with self.subTest(name):
                program = self.with_programs("sha256sum") / name
                words = "for word; do to=${url:-} url=$word; done"
                copy = f'cp {shlex.quote(str(self.dist))}/"${{url##*/}}" "$to"'
                program.write_text(f"#!/bin/sh\n{check}\n{words}\n{copy}\n")
                program.chmod(0o755)
                self.assertIn("acpd 0.0.1 is installed", self.run_command("sh", script))
        self.with_programs("sha256sum")
        self.assertIn("needs curl or wget", self.run_command("sh", script, code=1))
        plain = self.script("0.0.1", base="http://example.invalid/acpd")
        self.assertIn("only with https", self.run_command("sh", plain, code=1))

    def test_a_checksum_needs_a_program(self) -> None:
        script = self.script("0.0.1")
        self.with_programs()
        said = self.run_command("sh", script, code=1)
        self.assertEqual(said, "acpd: needs sha256sum or shasum to check the download\n")

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
