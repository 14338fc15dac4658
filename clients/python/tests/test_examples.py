"""Every example, as a user runs it; and the snippets of the documents, which are examples."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from support import PACKAGE, PATIENCE, DaemonTest

EXAMPLES = PACKAGE / "examples"
REPOSITORY = PACKAGE.parents[1]


class Examples(DaemonTest):
    async def run_example(self, name: str, *arguments: str, status: int = 0) -> tuple[str, str]:
        """Runs an example in the agent's folder; returns what it printed."""
        return await self.run_script(EXAMPLES / f"{name}.py", *arguments, status=status)

    async def run_script(
        self, path: Path, *arguments: str, status: int = 0, source: Path = PACKAGE / "src"
    ) -> tuple[str, str]:
        environment = self.daemon.environment() | {"PYTHONPATH": str(source)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, path, *arguments, cwd=self.daemon.work, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )  # fmt: skip
        try:
            out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
        self.assertEqual(process.returncode, status, err.decode())
        return out.decode(), err.decode()

    async def test_run(self) -> None:
        out, _ = await self.run_example("run", "say hello; permission kind=edit; elicit; say bye")
        self.assertRegex(out, r"^hello.*rejected \(reject_once\).*decline.*bye\n$")
        # The demo turn asks as well, and the example ends.
        out, _ = await self.run_example("run")
        self.assertNotEqual(out.strip(), "")

    async def test_approve(self) -> None:
        script = (
            "permission kind=edit path=notes.md; permission kind=edit path=/etc/hosts; permission kind=execute; elicit"
        )
        out, _ = await self.run_example("approve", script)
        lines = out.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines[:3]], ["allowed", "declined", "declined"], out)
        self.assertTrue(lines[3].startswith("not answered: "), out)
        self.assertEqual(lines[4:], ["the turn completed"])
        # Neither a link out of the folder, nor anything but a change, is allowed.
        (self.daemon.work / "link").symlink_to("/etc")
        script = (
            "permission kind=edit path=link/hosts; permission kind=delete path=notes.md; "
            "permission kind=edit path=..notes.md"
        )
        out, _ = await self.run_example("approve", script)
        answers = [line.split(":")[0] for line in out.splitlines()]
        self.assertEqual(answers, ["declined", "declined", "allowed", "the turn completed"], out)
        # The demo turn, whatever it asks.
        out, _ = await self.run_example("approve")
        self.assertEqual(out.splitlines()[-1], "the turn completed")

    async def test_follow(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        first = await client.call("turn/start", {"threadId": thread_id, "text": "say one"})
        await seen.turn(first["turn"]["id"])
        before = len(seen.numbers())
        out, _ = await self.run_example("follow", thread_id)
        self.assertEqual([int(line.split()[0]) for line in out.splitlines()], list(range(1, before + 1)))
        # Nothing is new.
        self.assertEqual((await self.run_example("follow", thread_id))[0], "")
        # A running turn is followed to its end, from where the last run stopped.
        second = await client.call("turn/start", {"threadId": thread_id, "text": "stream n=20 ms=20"})
        out, _ = await self.run_example("follow", thread_id)
        await seen.turn(second["turn"]["id"])
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual([int(number) for number, _ in lines], list(range(before + 1, before + 1 + len(lines))))
        self.assertIn("turn/completed", [method for _, method in lines])

    async def test_threads(self) -> None:
        client = await self.client()
        threads = [await self.thread(client) for _ in range(25)]
        seen = self.follow(client, threads[0])
        started = await client.call("turn/start", {"threadId": threads[0], "text": "say marmalade"})
        await seen.turn(started["turn"]["id"])
        out, _ = await self.run_example("threads")
        self.assertEqual({line.split()[0] for line in out.splitlines()}, set(threads))
        out, _ = await self.run_example("threads", "marmalade")
        self.assertRegex(out, rf"(?m)^{threads[0]}  agentMessage  .*marmalade")
        self.assertEqual((await self.run_example("threads", "nothingofthis"))[0], "")

    async def test_ci(self) -> None:
        out, _ = await self.run_example("ci", "say fine")
        self.assertEqual(out, "fine\n")
        _, err = await self.run_example("ci", "error message=broken", status=1)
        self.assertRegex(err, "the turn is failed: .*broken")
        _, err = await self.run_example("ci", "permission kind=execute", status=8)
        self.assertIn("declined, because no user is here to ask", err)

    async def test_ci_without_a_daemon(self) -> None:
        (self.daemon.data_dir / "acpd.sock").unlink()
        _, err = await self.run_example("ci", "say fine", status=6)
        self.assertRegex(err, r'cannot be reached \(there is no acpd.sock\): start it with "acpd serve"\n$')

    async def test_export(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        started = await client.call("turn/start", {"threadId": thread_id, "text": "say marmalade"})
        await seen.turn(started["turn"]["id"])
        await self.run_example("export", thread_id, "thread.md")
        self.assertIn("marmalade", (self.daemon.work / "thread.md").read_text())
        _, err = await self.run_example("export", thread_id[:-1] + "x", "thread.md", status=1)
        self.assertIn("cannot be exported", err)

    async def test_the_package_can_be_installed(self) -> None:
        # As "pip install ./acpd/clients/python" in the README, but with the pinned tools, which need no network.
        source, target = self.daemon.root / "source", self.daemon.root / "installed"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "*_cache"))
        offline = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
        pip = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pip", "install", *offline, "--target", target, source
        )  # fmt: skip
        self.assertEqual(await asyncio.wait_for(pip.wait(), 2 * PATIENCE), 0)
        package = target / "acpd_client"
        self.assertEqual(
            sorted(path.name for path in package.iterdir() if path.name != "__pycache__"),
            sorted(path.name for path in (PACKAGE / "src" / "acpd_client").iterdir() if path.name != "__pycache__"),
        )
        out, _ = await self.run_script(EXAMPLES / "run.py", "say installed", source=target)
        self.assertEqual(out, "installed\n")

    async def test_the_tutorial(self) -> None:
        # The file grows from step to step, and each step prints what the page says.
        page = (REPOSITORY / "docs" / "tutorial.md").read_text()
        blocks = re.findall(r"```(python|sh|text)\n(.*?)```", page, re.DOTALL)
        program = self.daemon.work / "tutorial.py"
        steps, printed = 0, ""
        last: list[str] = []
        for language, text in blocks:
            if language == "python":
                program.write_text(text)
                steps += 1
            elif language == "sh" and text.startswith("python tutorial.py"):
                printed = ""
                for line in text.splitlines():
                    last = shlex.split(line)[2:]
                    printed += (await self.run_script(program, *last))[0]
            elif language == "text" and steps > 0:
                shown = ".*?".join(re.escape(piece) for piece in text.split("…"))
                self.assertRegex(printed.strip() + "\n", re.compile(f"^{shown}$", re.DOTALL), f"step {steps}")
        self.assertEqual(steps, 4)
        # Without a prompt, the program prints the rest and ends: nothing, what it missed of an ended turn, or all.
        self.assertEqual((await self.run_script(program))[0], "")
        kept = self.daemon.work / "tutorial.json"
        state = json.loads(kept.read_text())
        missed, _ = await self.run_script(program, *last)
        for cursor in (state["cursor"], 0):
            kept.write_text(json.dumps(state | {"cursor": cursor}))
            out, _ = await self.run_script(program)
            self.assertTrue(out.endswith(missed.lstrip()), out)
        # Of the steps before, the functions that decide are those of the example.
        functions = re.findall(r"def is_allowed.*?\n\n\n", page, re.DOTALL)
        self.assertEqual(len(functions), 2)
        for function in functions:
            self.assertIn(function, (EXAMPLES / "approve.py").read_text())

    async def test_the_snippets_of_the_package_are_examples(self) -> None:
        sources = [path.read_text() for path in sorted(EXAMPLES.glob("*.py"))]
        snippets = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
        self.assertTrue(snippets)
        for snippet in snippets:
            self.assertTrue(any(snippet in source for source in sources), snippet)
