"""Checks what cannot be installed here: the image, the formula, the bill of materials, checksums, reproducibility."""

import json
import os
import re
import shlex
import shutil
import tarfile
import unittest

import homebrew
import stage
import targets
import wheel
from archives import sha256, write_tar_gz
from build import DIST
from scratch import Scratch
from stage import ROOT

TARGET = targets.TARGETS[targets.host()]
VERSION = os.environ["ACPD_VERSION"]
TARBALL = homebrew.tarball(DIST, VERSION, TARGET)
# Versions of glibc in images that the Containerfile may begin with.
GLIBC = {"debian:12-slim": (2, 36), "debian:13-slim": (2, 41)}


class Image(Scratch):
    """The Containerfile fits the files in dist/ and the command line."""

    def setUp(self) -> None:
        super().setUp()
        text = (ROOT / "packaging/container/Containerfile").read_text()
        lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
        self.steps = [line.split(maxsplit=1) for line in lines if line.strip()]

    def of(self, instruction: str) -> list[str]:
        return [rest for name, rest in self.steps if name == instruction]

    def test_all_instructions_are_known(self) -> None:
        known = {
            "FROM",
            "RUN",
            "COPY",
            "ENV",
            "VOLUME",
            "USER",
            "WORKDIR",
            "EXPOSE",
            "HEALTHCHECK",
            "ENTRYPOINT",
            "CMD",
        }
        self.assertLessEqual({name for name, _ in self.steps}, known)
        self.assertEqual(self.steps[0][0], "FROM")

    def test_what_it_copies_exists(self) -> None:
        copied = [shlex.split(rest) for rest in self.of("COPY")]
        self.assertTrue(copied)
        for *sources, goal in copied:
            self.assertTrue(goal.startswith("/"), goal)
            for source in sources:
                self.assertTrue((ROOT / source).is_file(), source)

    def test_it_runs_as_a_user_with_a_volume_for_data(self) -> None:
        self.assertNotIn(self.of("USER")[-1], ("root", "0"))
        self.assertIn(f"ACPD_DATA_DIR={self.of('VOLUME')[0]}", self.of("ENV"))

    def test_its_commands_work(self) -> None:
        self.assertEqual(self.of("ENTRYPOINT"), ['["acpd"]'])
        program, *health = json.loads(self.of("HEALTHCHECK")[0].split("CMD", 1)[1])
        self.assertEqual(program, "acpd")
        self.check_program(DIST / "stage/acpd", version=VERSION, health=health)
        for command in self.of("CMD"):
            self.run_command(DIST / "stage/acpd", *json.loads(command), "--help")

    def test_the_base_has_the_libraries_of_the_binary(self) -> None:
        base = self.of("FROM")[0].removeprefix("docker.io/library/")
        tag = wheel.platform(DIST / "stage/acpd", TARGET)
        major, minor = map(int, re.match(r"manylinux_(\d+)_(\d+)_", tag).groups())
        self.assertLessEqual((major, minor), GLIBC[base])


class Formula(unittest.TestCase):
    """The formula names the tarball with its checksum, and the files that it installs are in it."""

    def test_the_tarball(self) -> None:
        text = (DIST / "acpd.rb").read_text()
        self.assertNotRegex(text, "@[A-Z]+@")
        self.assertIn(f'/{TARBALL.name}"\n      sha256 "{sha256(TARBALL)}"', text)
        names = stage.files(DIST / "stage")
        for name in re.findall(r'install "([^"]+)"', text):
            self.assertIn(name, names)

    @unittest.skipUnless(shutil.which("ruby"), "ruby is not installed")
    def test_the_syntax(self) -> None:
        self.assertIn("Syntax OK", stage.run("ruby", "-c", str(DIST / "acpd.rb")))


class Release(Scratch):
    """Checksums, the bill of materials, and the same bytes from the same files."""

    def test_the_checksums_are_right_and_complete(self) -> None:
        self.run_command("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)
        named = {line.split()[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(named, {path.name for path in DIST.iterdir() if path.is_file()} - {"SHA256SUMS"})

    def test_the_bill_of_materials_has_all_packages_with_licences(self) -> None:
        bill = json.loads((DIST / f"acpd-{VERSION}-{TARGET.triple}.cdx.json").read_text())
        names = {component["name"] for component in bill["components"]}
        self.assertLessEqual({"tokio", "rusqlite", "libsqlite3-sys", "ring", "acpd-web"}, names)
        self.assertEqual([each["name"] for each in bill["components"] if not each.get("licenses")], [])
        self.assertNotIn(str(ROOT), json.dumps(bill))

    def test_the_same_files_make_the_same_bytes(self) -> None:
        with tarfile.open(TARBALL) as tar:
            epoch = int(tar.next().mtime)
        again = self.folder / TARBALL.name
        copied = self.folder / "copied"
        shutil.copytree(DIST / "stage", copied, copy_function=shutil.copyfile)
        (copied / "acpd").chmod(0o700)
        write_tar_gz(again, f"acpd-{VERSION}-{TARGET.triple}", stage.files(copied), epoch)
        self.assertEqual(sha256(again), sha256(TARBALL))
        wheels = wheel.write(self.folder, copied, TARGET, VERSION, epoch)
        self.assertEqual(sha256(wheels), sha256(DIST / wheels.name))

    def test_the_binary_is_stripped(self) -> None:
        self.assertNotIn(".symtab", stage.run("readelf", "--sections", "--wide", str(DIST / "stage/acpd")))


if __name__ == "__main__":
    unittest.main()
