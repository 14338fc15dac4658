"""The official Python SDK plays the part in $INTEROP (docs/testing.md, "Interoperability") over the way
that is named there."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import acp
from acp.connection import StreamDirection
from acp.http import create_http_stream
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    FileSystemCapabilities,
    Implementation,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)
from acp.ws import create_websocket_stream

PART = json.loads(os.environ["INTEROP"])
HEADERS = {"Authorization": f"Bearer {PART['token']}"} if PART["token"] else {}


def tell(**line):
    print(json.dumps(line), flush=True)


class Terminal:
    """A command that runs in the editor."""

    def __init__(self, process):
        self.process = process
        self.output = ""
        self.end = asyncio.create_task(self._run())

    async def _run(self):
        while chunk := await self.process.stdout.read(4096):
            self.output += chunk.decode()
        code = await self.process.wait()
        signal = None if code >= 0 else str(-code)
        return TerminalExitStatus(exit_code=code if code >= 0 else None, signal=signal)


class World(acp.Client):
    """What an editor has: text that is not saved yet, terminals, and a person who answers as the turn says."""

    def __init__(self):
        self.turn, self.cancel, self.said = {}, None, ""
        self.buffers, self.terminals = {}, {}

    def begin(self, turn, cancel=None):
        self.turn, self.cancel, self.said = dict(turn), cancel, ""

    async def session_update(self, session_id, update, **_):
        if update.session_update == "agent_message_chunk" and update.content.type == "text":
            self.said += update.content.text
        if self.turn.get("cancelAt") and self.said.endswith(self.turn["cancelAt"]):
            del self.turn["cancelAt"]
            await self.cancel()

    async def request_permission(self, session_id, tool_call, options, **_):
        chosen = next(option for option in options if option.kind == self.turn["answer"])
        outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        if path in self.buffers:
            return ReadTextFileResponse(content=self.buffers[path])
        with open(path) as file:
            return ReadTextFileResponse(content=file.read())

    async def write_text_file(self, session_id, path, content, **_):
        self.buffers[path] = content

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, **_):
        pipe, both = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        start = asyncio.create_subprocess_exec
        process = await start(command, *(args or []), cwd=cwd, stdout=pipe, stderr=both)
        terminal_id = f"editor-{len(self.terminals)}"
        self.terminals[terminal_id] = Terminal(process)
        return CreateTerminalResponse(terminal_id=terminal_id)

    async def terminal_output(self, session_id, terminal_id, **_):
        terminal = self.terminals[terminal_id]
        status = terminal.end.result() if terminal.end.done() else None
        return TerminalOutputResponse(output=terminal.output, truncated=False, exit_status=status)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_):
        status = await self.terminals[terminal_id].end
        return WaitForTerminalExitResponse(exit_code=status.exit_code, signal=status.signal)

    async def kill_terminal(self, session_id, terminal_id, **_):
        if not self.terminals[terminal_id].end.done():
            self.terminals[terminal_id].process.kill()

    async def release_terminal(self, session_id, terminal_id, **_):
        await self.kill_terminal(session_id, terminal_id)


class Told:
    """A transport whose every frame is told, before it is sent: the answer may come before the sending ends."""

    def __init__(self, transport, on):
        self.transport, self.on = transport, on

    async def send(self, message):
        tell(on=self.on, sent=message)
        await self.transport.send(message)

    async def receive(self):
        message = await self.transport.receive()
        if message is not None:
            tell(on=self.on, got=message)
        return message

    async def close(self):
        await self.transport.close()


@asynccontextmanager
async def connection(world, on):
    """The SDK's own connection over the way of the part, whose every frame is told."""
    if PART["way"] == "stdio":

        def observe(event):
            incoming = event.direction == StreamDirection.INCOMING
            tell(on=on, **{"got" if incoming else "sent": event.message})

        start = acp.spawn_agent_process(
            world,
            *PART["command"],
            env=dict(os.environ),
            transport_kwargs={"stderr": None},
            observers=[observe],
        )
        async with start as (agent, process):
            yield agent
        tell(step="ended", code=process.returncode)
        return
    if PART["way"] == "websocket":
        transport = await create_websocket_stream(PART["url"], headers=HEADERS)
    else:
        transport = create_http_stream(PART["url"], headers=HEADERS)
    async with acp.connect_to_agent(world, Told(transport, on)) as agent:
        yield agent
    tell(step="ended")


async def greet(agent):
    lent = ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
    )
    hello = await agent.initialize(
        acp.PROTOCOL_VERSION,
        lent if PART["lend"] else ClientCapabilities(),
        Implementation(name="interop", version="1"),
    )
    tell(step="hello", version=hello.protocol_version, load=hello.agent_capabilities.load_session)


async def play(agent, world, session, turn):
    world.begin(turn, lambda: agent.cancel(session))
    answer = await agent.prompt(session_id=session, prompt=[acp.text_block(turn["prompt"])])
    tell(step="turn", name=turn["name"], stopReason=answer.stop_reason, said=world.said)


async def main():
    world = World()
    async with connection(world, 1) as agent:
        await greet(agent)
        session = (await agent.new_session(cwd=PART["cwd"], mcp_servers=[])).session_id
        for turn in PART["turns"]:
            await play(agent, world, session, turn)
        listed = (await agent.list_sessions()).sessions
        tell(step="listed", sessions=[one.session_id for one in listed], session=session)
    async with connection(world, 2) as agent:
        await greet(agent)
        world.begin({})
        await agent.load_session(cwd=PART["cwd"], session_id=session, mcp_servers=[])
        tell(step="loaded", said=world.said)
        await play(agent, world, session, PART["after"])
        await agent.close_session(session)
        tell(step="closed")


if __name__ == "__main__":
    asyncio.run(main())
