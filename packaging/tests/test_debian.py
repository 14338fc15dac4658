"""Installs the .deb in a clean Debian, as its only package of others, and runs the demo in a browser.

In: the .deb of dist/. Out: failures of the test. Owns: the scratch root. Never: installs anything outside of that root.
"""

import os
import shutil
import subprocess
import time
import unittest

from build import DIST
from scratch import Scratch
from stage import ROOT

VERSION = os.environ["ACPD_VERSION"]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
# Debian without any package that it can do without, as debootstrap made it. A test unpacks it.
BASE = ROOT / ".tools/debian-12.tar"
SECONDS = 60
PORT = 4127

# Makes file systems that only this process and its children see. They end with it.
INSIDE = """
set -e
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
exec chroot "$1" /bin/sh -s
"""
# The commands of a new user: the first as root, the second as the user.
COMMANDS = f"""
set -e
export DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
apt-get install --yes --quiet=2 /root/acpd.deb >/tmp/apt.log 2>&1 || {{ cat /tmp/apt.log; exit 1; }}
su - ann -c 'ACPD_LISTEN=127.0.0.1:{PORT} acpd open --print'
"""
AFTERWARDS = """
su - ann -c 'acpd stop'
dpkg --purge acpd
exit
"""


@unittest.skipUnless(os.geteuid() == 0, "it needs root for a root directory of its own")
@unittest.skipUnless(BASE.exists() or shutil.which("debootstrap"), "debootstrap is not installed")
@unittest.skipUnless(CHROMIUM, "Chromium is not installed")
@unittest.skipUnless((ROOT / "web/node_modules/playwright-core").exists(), "the web UI's packages are not installed")
class CleanDebian(Scratch):
    """From nothing but the .deb to the demo in the browser: one minute, two commands and a click."""

    def setUp(self) -> None:
        super().setUp()
        if not BASE.exists():
            made = self.folder / "made"
            self.run_command("debootstrap", "--variant=minbase", "bookworm", made, timeout=900)
            self.run_command("tar", "-C", made, "-cf", f"{BASE}.part", ".")
            os.replace(f"{BASE}.part", BASE)
        self.run_command("tar", "-C", self.prefix, "-xf", BASE)
        shutil.copyfile(next(DIST.glob(f"acpd_{VERSION}-*.deb")), self.prefix / "root/acpd.deb")
        self.run_command("chroot", self.prefix, "/usr/sbin/useradd", "--create-home", "ann")

    def test_the_demo_in_the_browser(self) -> None:
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.prefix}/proc"]
        with subprocess.Popen(
            [*namespaces, "sh", "-c", INSIDE, "sh", str(self.prefix)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as inside:
            try:
                began = time.monotonic()
                inside.stdin.write(COMMANDS)
                inside.stdin.flush()
                link = inside.stdout.readline().strip()
                self.assertRegex(link, f"^http://127.0.0.1:{PORT}/#ticket=")
                left = began + SECONDS - time.monotonic()
                shown = self.run_command("node", ROOT / "packaging/tests/demo.mjs", CHROMIUM, link, timeout=left)
                self.assertIn("Done: notes.md", shown)
                notes = self.prefix / "home/ann/acpd-demo/notes.md"
                self.assertIn("Hello, world.", notes.read_text())
                rest, _ = inside.communicate(AFTERWARDS, timeout=SECONDS)
                self.assertIn("stopped the daemon", rest)
                self.assertEqual(inside.returncode, 0)
            finally:
                inside.kill()
        self.assertFalse((self.prefix / "usr/bin/acpd").exists())
        self.assertTrue((self.prefix / "home/ann/.local/state/acpd/log.db").is_file())


if __name__ == "__main__":
    unittest.main()
