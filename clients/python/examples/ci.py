"""Runs a prompt in CI: python ci.py PROMPT.

The exit code is that of "acpd run": 0 if the turn completed, 1 if it did not, 6 if there is no daemon, and 8 if a question was
declined.
"""

import asyncio
import os
import sys

from acpd_client import APPROVALS, AcpdError, connect
from acpd_client.protocol import Approval, QuestionAnswered

#: No prompt may take longer, in seconds.
LIMIT = 600


async def run(prompt: str) -> int:
    declined: list[str] = []

    def decline(approval: Approval) -> QuestionAnswered:
        declined.append(approval["title"])
        return {"decision": "decline"}

    async with connect(name="ci.py", capabilities={"approvals": True}) as client:
        for method in APPROVALS:
            client.answer(method, decline)
        client.answer("item/tool/requestUserInput", lambda question: {"dismissed": True})

        started = await client.call("thread/start", {"agentType": "demo", "cwd": os.getcwd(), "text": prompt})
        async with client.follow(started["thread"]["id"], after=0) as events:
            async for event in events:
                if event["method"] == "item/agentMessage/delta":
                    print(event["params"].get("text") or "", end="", flush=True)
                elif event["method"] == "turn/completed":
                    turn = event["params"]["turn"]
                    break
    print()
    for title in declined:
        print(f"declined, because no user is here to ask: {title}", file=sys.stderr)
    if turn["status"] != "completed":
        print(f"the turn is {turn['status']}: {turn.get('error') or 'no reason'}", file=sys.stderr)
        return 1
    return 8 if declined else 0


async def main(prompt: str) -> int:
    try:
        return await asyncio.wait_for(run(prompt), LIMIT)
    except AcpdError as error:
        print(error, file=sys.stderr)
        return 6 if error.code == "disconnected" else 1
    except asyncio.TimeoutError:
        print(f"the turn took longer than {LIMIT} s", file=sys.stderr)
        return 1


sys.exit(asyncio.run(main(" ".join(sys.argv[1:]))))
