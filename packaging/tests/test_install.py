"""Installs each package into a scratch folder, uses it, upgrades it and removes it."""

import os
import shutil
import subprocess
import unittest
import venv
from pathlib import Path

import npm
import targets
import wheel
from build import DIST
from scratch import Scratch, files_below
from stage import ROOT

TARGET = targets.TARGETS[targets.host()]
VERSION = os.environ["ACPD_VERSION"]
OLDER = "0.0.1"
STAGED = DIST / "stage"


class Tarball(Scratch):
    """The tarball is unpacked, twice, and removed."""

    def test_unpack_use_and_remove(self) -> None:
        tarball = DIST / f"acpd-{VERSION}-{TARGET.triple}.tar.gz"
        folder = self.prefix / f"acpd-{VERSION}-{TARGET.triple}"
        for _ in range(2):
            self.run_command("tar", "-xzf", tarball, "-C", self.prefix)
            self.check_program(folder / "acpd", version=VERSION)
            shutil.rmtree(self.work / "acpd-demo")
        self.assertEqual({path.name for path in self.prefix.iterdir()}, {folder.name})
        names = files_below(folder)
        for name in (
            "LICENSE",
            "README.md",
            "config.example.toml",
            "man/acpd.1",
            "man/acpd-run.1",
            "completions/_acpd",
            "monitoring/alerts.yml",
        ):
            self.assertIn(name, names)
        self.run_command("bash", "-n", folder / "completions/acpd.bash")
        self.run_command(folder / "acpd", "--config", folder / "config.example.toml", "config", "check")
        shutil.rmtree(folder)
        self.check_data_is_left()


@unittest.skipUnless(shutil.which("dpkg"), "dpkg is not installed")
class Deb(Scratch):
    """The .deb is installed below a root of its own, over an older version, and purged."""

    def dpkg(self, *arguments: str | Path) -> str:
        forced = ["--force-not-root", "--force-depends", "--force-bad-path"]
        return self.run_command("dpkg", f"--root={self.prefix}", *forced, *arguments)

    def test_install_upgrade_and_purge(self) -> None:
        newest = next(DIST.glob(f"acpd_{VERSION}-*.deb"))
        for folder in ("updates", "info"):
            (self.prefix / "var/lib/dpkg" / folder).mkdir(parents=True)
        (self.prefix / "var/lib/dpkg/status").touch()
        self.dpkg("--install", self.older(newest))
        program = self.prefix / "usr/bin/acpd"
        self.run_command(program, "--version")
        self.dpkg("--install", newest)
        self.assertIn(f"Version: {VERSION}-", self.dpkg("--status", "acpd"))
        self.check_program(program, version=VERSION)
        for name in (
            "share/man/man1/acpd.1.gz",
            "share/bash-completion/completions/acpd",
            "share/doc/acpd/copyright",
            "share/doc/acpd/examples/monitoring/grafana-dashboard.json",
            "lib/systemd/user/acpd.socket",
        ):
            self.assertTrue((self.prefix / "usr" / name).is_file(), name)
        for unit in ("user/acpd.service", "system/acpd@.service"):
            self.assertIn("\nExecStart=/usr/bin/acpd serve\n", (self.prefix / "usr/lib/systemd" / unit).read_text())
        self.dpkg("--purge", "acpd")
        left = {name for name in files_below(self.prefix) if not name.startswith(("var/lib/dpkg/", "var/log/"))}
        self.assertEqual(left, set())
        self.check_data_is_left()

    def older(self, package: Path) -> Path:
        unpacked, made = self.folder / "older", self.folder / "older.deb"
        self.run_command("dpkg-deb", "--raw-extract", package, unpacked)
        control = unpacked / "DEBIAN/control"
        control.write_text(control.read_text().replace(f"Version: {VERSION}-", f"Version: {OLDER}-"))
        self.run_command("dpkg-deb", "--root-owner-group", "-Znone", "--build", unpacked, made)
        return made


@unittest.skipUnless(shutil.which("npm"), "npm is not installed")
class Npm(Scratch):
    """The npm packages are installed into a project without network access, over older ones, and removed."""

    def npm(self, *arguments: str | Path, **options) -> str:
        return self.run_command("npm", *arguments, "--offline", "--no-audit", "--no-fund", cwd=self.prefix, **options)

    def packages(self, folder: Path, version: str) -> list[Path]:
        return [folder / f"acpd-{version}.tgz", folder / f"acpd-{TARGET.npm}-{version}.tgz"]

    def test_install_upgrade_and_remove(self) -> None:
        older = self.folder / "older"
        older.mkdir()
        npm.write_platform(older, STAGED, TARGET, OLDER)
        npm.write_launcher(older, OLDER)
        (self.prefix / "package.json").write_text("{}\n")
        for folder, version in ((older, OLDER), (DIST, VERSION)):
            self.npm("install", *self.packages(folder, version))
            self.assertIn(f"acpd@{version}", self.npm("list"))
        # As npx does it, in another folder.
        npx = ["npx", "--offline", "--no", "--prefix", self.prefix, "--", "acpd"]
        self.check_program(*npx, version=VERSION)
        self.run_command(*npx, "status", code=6)
        self.npm("uninstall", "acpd", f"@acpd/{TARGET.npm}")
        self.assertEqual(
            files_below(self.prefix) - {"node_modules/.package-lock.json"}, {"package.json", "package-lock.json"}
        )
        self.check_data_is_left()

    def test_the_launcher_explains_a_missing_platform(self) -> None:
        (self.prefix / "package.json").write_text("{}\n")
        self.npm("install", "--omit=optional", DIST / f"acpd-{VERSION}.tgz")
        printed = self.run_command(self.prefix / "node_modules/.bin/acpd", "--version", code=1)
        self.assertIn(f'run "npm install @acpd/{TARGET.npm}@{VERSION}"', printed)

    def test_a_signal_to_the_launcher_ends_the_daemon(self) -> None:
        (self.prefix / "package.json").write_text("{}\n")
        self.npm("install", *self.packages(DIST, VERSION))
        launcher = self.prefix / "node_modules/.bin/acpd"
        command = [launcher, "serve", "--log-format", "json"]
        with subprocess.Popen(
            command, cwd=self.work, env=self.variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as daemon:
            while '"message":"ready"' not in (line := daemon.stderr.readline()):
                self.assertTrue(line, "the daemon ended before it was ready")
            daemon.terminate()
            daemon.stderr.read()
            self.assertEqual(daemon.wait(60), 0)
        self.run_command(launcher, "status", code=6)


class Wheel(Scratch):
    """The wheel is installed into a virtual environment without network access, over an older one, and removed."""

    def test_install_upgrade_and_remove(self) -> None:
        venv.create(self.prefix, with_pip=True)
        before = files_below(self.prefix)
        pip = [self.prefix / "bin/python", "-m", "pip", "--disable-pip-version-check"]
        older = wheel.write(self.folder, STAGED, TARGET, OLDER, 0)
        newest = next(DIST.glob(f"acpd-{VERSION}-py3-*.whl"))
        for package, version in ((older, OLDER), (newest, VERSION)):
            self.run_command(*pip, "install", "--no-index", package)
            self.assertIn(f"Version: {version}", self.run_command(*pip, "show", "acpd"))
        self.run_command(*pip, "check")
        self.check_program(self.prefix / "bin/acpd", version=VERSION)
        self.run_command(*pip, "uninstall", "--yes", "acpd")
        self.assertEqual(files_below(self.prefix), before)
        self.check_data_is_left()


class Source(Scratch):
    """The source tarball is compiled and installed by "cargo install" where neither node nor npm works."""

    def test_cargo_install_without_node(self) -> None:
        self.run_command("tar", "-xzf", DIST / f"acpd-{VERSION}-source.tar.gz", "-C", self.work)
        source = self.work / f"acpd-{VERSION}"
        stubs = self.folder / "stubs"
        stubs.mkdir()
        for name in ("node", "npm", "npx"):
            (stubs / name).write_text(f'#!/bin/sh\necho "{name} was called" >&2\nexit 1\n')
            (stubs / name).chmod(0o755)
        home = Path.home()
        self.variables |= {
            "PATH": f"{stubs}:{self.variables['PATH']}",
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(home / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(home / ".rustup")),
            # Beside the workspace's own, so that a second run is quick.
            "CARGO_TARGET_DIR": str(ROOT / "target/source"),
        }
        self.run_command(
            "cargo",
            "install",
            "--debug",
            "--locked",
            "--offline",
            "--path",
            "crates/acpd",
            "--root",
            self.prefix,
            cwd=source,
            timeout=3600,
        )
        program = self.prefix / "bin/acpd"
        self.check_program(program, version=VERSION)
        content = program.read_bytes()
        script = next((source / "web/dist/assets").glob("first-*.js")).name
        self.assertIn(script.encode(), content, "the built web UI is not in the binary")
        self.assertIn(b"searchindex-", content, "the built documents are not in the binary")


if __name__ == "__main__":
    unittest.main()
