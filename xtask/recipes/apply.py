"""Carries out a recipe of CONTRIBUTING.md in a copy of the tree: "make check-recipes" runs this.

In: a file of steps. Out: a failure if a place is gone, or if the compiler or a test does not ask for what the recipe says.
Never: changes the tree itself.

Each step is a word and what it is about, and the lines behind it that begin with "|". Lines with "#" are comments.

    insert FILE             then a line "before LINE": inserts the text before the only line of the file that reads so
    create FILE             makes a new file of the text
    fails COMMAND           the command fails, and prints the text
    passes COMMAND          the command succeeds
    generate COMMAND        the command succeeds while it writes what is generated
    holds FILE              the file contains the text
"""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / ".tools" / "recipes" / "tree"
TARGET = ROOT / ".tools" / "recipes" / "target"
STEPS = ("insert", "create", "fails", "passes", "generate", "holds")
SHOWN_LINES = 60


class RecipeError(Exception):
    """A sentence about what does not hold any more."""


@dataclass
class Step:
    """A step, the line of the recipe that it begins in, and what belongs to it."""

    does: str
    about: str
    line: int
    before: str | None = None
    text: list[str] = field(default_factory=list)


def read(recipe: Path) -> list[Step]:
    """Reads the steps of a recipe."""
    steps: list[Step] = []
    for number, line in enumerate(recipe.read_text().splitlines(), 1):
        does, _, about = line.partition(" ")
        if line.startswith("|") and steps:
            steps[-1].text.append(line[1:])
        elif does in STEPS and about:
            steps.append(Step(does, about, number))
        elif does == "before" and steps and steps[-1].does == "insert":
            steps[-1].before = about
        elif line.strip() and not line.startswith("#"):
            raise RecipeError(f"line {number} is not a step: {line}")
    return steps


def copy() -> None:
    """Makes the copy what the tree is. Files that are the same keep their times, so that they are not compiled again."""
    list_files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(list_files, cwd=ROOT, check=True, capture_output=True)
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in COPY.rglob("*") if not path.is_dir() or path.is_symlink()]:
        if str(path.relative_to(COPY)) not in names:
            path.unlink()
    for name in sorted(names):
        source, place = ROOT / name, COPY / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not (place.is_file() and place.read_bytes() == source.read_bytes()):
            shutil.copy(source, place, follow_symlinks=False)


def insert(step: Step) -> None:
    """Inserts text before a line."""
    place = COPY / step.about
    if not place.is_file():
        raise RecipeError(f"{step.about} is gone: name the file that has its subject now")
    lines = place.read_text().splitlines()
    found = [number for number, line in enumerate(lines) if line == step.before]
    if len(found) != 1:
        raise RecipeError(
            f"{step.about} has {len(found)} lines that read {step.before!r}, and the step needs one: "
            "choose another line to insert before"
        )
    lines[found[0] : found[0]] = step.text
    place.write_text("\n".join(lines) + "\n")


def create(step: Step) -> None:
    """Makes a new file."""
    place = COPY / step.about
    if place.exists():
        raise RecipeError(f"{step.about} exists already: choose another name")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(step.text) + "\n")


def run(step: Step) -> None:
    """Runs a command, and checks how it ends and what it prints."""
    env = {"CARGO_TARGET_DIR": str(TARGET), **os.environ, "CARGO_TERM_COLOR": "never"}
    env.pop("ACPD_GENERATE", None)
    if step.does == "generate":
        env["ACPD_GENERATE"] = "1"
    words = shlex.split(step.about)
    if words[0] == "cargo":
        words[0] = os.environ.get("CARGO", "cargo")
    ended = subprocess.run(
        words, cwd=COPY, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    end = "\n".join(ended.stdout.splitlines()[-SHOWN_LINES:])
    if (ended.returncode != 0) != (step.does == "fails"):
        what = "succeeds, so that nothing asks for the next step" if step.does == "fails" else "fails"
        raise RecipeError(f"{step.about} {what}\n{end}")
    for text in step.text:
        if text.strip() not in ended.stdout:
            raise RecipeError(f"{step.about} does not print {text.strip()!r}\n{end}")


def holds(step: Step) -> None:
    """Checks that a file contains texts."""
    place = COPY / step.about
    content = place.read_text() if place.is_file() else ""
    for text in step.text:
        if text.strip() not in content:
            raise RecipeError(f"{step.about} does not contain {text.strip()!r}")


def carry_out(recipe: Path) -> None:
    """Carries out a recipe."""
    try:
        steps = read(recipe)
    except RecipeError as problem:
        raise SystemExit(f"{recipe.name}: {problem}") from None
    copy()
    for step in steps:
        print(f"{recipe.stem}: {step.does} {step.about}", flush=True)
        try:
            {"insert": insert, "create": create, "holds": holds}.get(step.does, run)(step)
        except RecipeError as problem:
            raise SystemExit(f"{recipe.name}, line {step.line}: {problem}") from None
    files = sorted({step.about for step in steps if step.does in ("insert", "create")})
    print(f"{recipe.stem}: {len(files)} files: {', '.join(files)}")


if __name__ == "__main__":
    for given in sys.argv[1:] or sorted((ROOT / "xtask" / "recipes").glob("*.recipe")):
        carry_out(Path(given))
