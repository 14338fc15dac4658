#!/usr/bin/env python3
"""Lists the packages of tests/versions.mk of which a registry has a newer version: newer.py FILE.

npm, pip and cargo ask the registries that they are configured for. Exits with 1 if a package has no answer.
"""

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

# Each answer is some hundred bytes: a registry that needs longer is taken for unreachable.
SECONDS = 60
AT_ONCE = 6
# Python for agents that name none, as in the Makefile.
PYTHON = "312"
RELEASE = re.compile(r"\d+(\.\d+)*")
# Why a client of a registry failed, in the words of each, the clearest first.
REASONS = [
    re.compile(words, re.IGNORECASE) for words in ("could not resolve.*", "request to .*", "error.*", "no module.*")
]
# Clients run here: cargo prefers the versions of a workspace's lock, npm answers from its cache without network.
EMPTY = tempfile.TemporaryDirectory(prefix="acpd-newer.")


class NoAnswer(Exception):
    """A registry has not answered."""


class Pin(NamedTuple):
    registry: str
    package: str
    version: str
    python: str
    held: str


def pins(text: str) -> list[Pin]:
    """Reads the pins from assignments in make's language, in their order."""
    values = dict(re.findall(r"^([\w-]+) := (.+)$", text, re.MULTILINE))
    found = []
    for variable, names in values.items():
        registry, _, group = variable.partition("_")
        if group not in ("AGENTS", "SDKS", "SCHEMAS"):
            continue
        for name in names.split():
            python, held = values.get(f"{name}_PYTHON", PYTHON), values.get(f"{name}_HELD", "")
            for pin in values[f"{name}_PACKAGES"].split():
                package, _, version = pin.rpartition("==" if registry == "PYPI" else "@")
                found.append(Pin(registry, package.partition("[")[0], version, python, held))
    return found


def ask(*command: str) -> str:
    """Runs a client of a registry; returns its output."""
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=EMPTY.name,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise NoAnswer(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"no answer within {SECONDS} s") from error
    if done.returncode != 0:
        said = done.stderr + done.stdout
        reasons = [reason[0] for pattern in REASONS if (reason := pattern.search(said))]
        raise NoAnswer(reasons[0][:200] if reasons else f"{command[0]} exited with {done.returncode}")
    return done.stdout


def npm(pin: Pin) -> list[str]:
    members = ("versions", "dist-tags.latest")
    view = json.loads(ask("npm", "view", pin.package, *members, "--json", "--fetch-retries=0", f"--cache={EMPTY.name}"))
    versions, latest = view["versions"], view["dist-tags.latest"]
    # With one version, npm prints no list.
    versions = [versions] if isinstance(versions, str) else versions
    return [version for version in versions if RELEASE.fullmatch(version) and key(version) <= key(latest)]


def pypi(pin: Pin) -> list[str]:
    python = f"{pin.python[0]}.{pin.python[1:]}"
    said = ask(
        *(sys.executable, "-m", "pip", "--retries=0", "--no-color", "index", "versions"),
        *("--only-binary=:all:", f"--python-version={python}", pin.package),
    )
    return re.findall(r"[^\s,]+", said.partition("Available versions:")[2].partition("\n")[0])


def crates(pin: Pin) -> list[str]:
    said = ask("cargo", "info", "--quiet", "--color=never", "--config=net.retry=0", pin.package)
    return re.findall(r"^version: (\S+)", said, re.MULTILINE)


CLIENTS = {"NPM": ("npm", npm), "PYPI": ("PyPI", pypi), "CRATES": ("crates.io", crates)}


def key(version: str) -> tuple[int, ...]:
    release = RELEASE.match(version)
    return tuple(int(part) for part in release[0].split(".")) if release else ()


def newer(pin: Pin) -> list[str] | NoAnswer:
    """Returns the newest release and, before it, the newest one with the same first number, if these are newer."""
    try:
        versions = [version for version in CLIENTS[pin.registry][1](pin) if RELEASE.fullmatch(version)]
    except NoAnswer as no_answer:
        return no_answer
    except (ValueError, KeyError) as error:
        return NoAnswer(f"unexpected answer: {error}")
    if not versions:
        return NoAnswer("no release")
    same = [version for version in versions if key(version)[:1] == key(pin.version)[:1]]
    best = {max(group, key=key) for group in (same, versions) if group}
    return sorted((version for version in best if key(version) > key(pin.version)), key=key)


def main(path: Path) -> int:
    pinned = pins(path.read_text())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(zip(pinned, pool.map(newer, pinned), strict=True))
    rows = [
        (pin.package, pin.version, ", ".join(found), f"held: {pin.held}" if pin.held else "")
        for pin, found in answers
        if not isinstance(found, NoAnswer) and found
    ]
    if rows:
        rows.insert(0, ("PACKAGE", "PINNED", "NEWER", ""))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for *cells, held in rows:
            print("  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)), held]).rstrip())
    unanswered = [(pin, found) for pin, found in answers if isinstance(found, NoAnswer)]
    for registry, (title, _) in CLIENTS.items():
        failed = [(pin, why) for pin, why in unanswered if pin.registry == registry]
        if len(failed) > 1 and len(failed) == sum(pin.registry == registry for pin in pinned):
            print(f"{title} cannot be reached: {failed[0][1]}", file=sys.stderr)
        else:
            for pin, why in failed:
                print(f"{title} has no answer for {pin.package}: {why}", file=sys.stderr)
    if rows:
        summary = f"{len(rows) - 1} of {len(pinned)} packages have a newer version"
    else:
        summary = "no newer version is known" if unanswered else f"all {len(pinned)} packages have the newest version"
    print(f"{summary}: {len(unanswered)} of {len(pinned)} packages have no answer" if unanswered else summary)
    return 1 if unanswered else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: newer.py FILE")
    sys.exit(main(Path(sys.argv[1])))
