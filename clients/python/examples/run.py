"""Runs one prompt and prints the answer: python run.py [PROMPT]."""

import asyncio
import os
import sys

from acpd_client import APPROVALS, connect


async def main(prompt: str) -> None:
    # Without an address, this connects to your own daemon on this host.
    async with connect(name="run.py", capabilities={"approvals": True}) as client:
        # The client answers nothing by default, and a question without an answer would keep the turn waiting.
        for method in APPROVALS:
            client.answer(method, lambda approval: {"decision": "decline"})
        client.answer("item/tool/requestUserInput", lambda question: {"dismissed": True})

        started = await client.call("thread/start", {"agentType": "demo", "cwd": os.getcwd(), "text": prompt})
        async with client.follow(started["thread"]["id"], after=0) as events:
            async for event in events:
                if event["method"] == "item/agentMessage/delta":
                    print(event["params"].get("text") or "", end="", flush=True)
                elif event["method"] == "turn/completed":
                    print()
                    break


asyncio.run(main(" ".join(sys.argv[1:]) or "Show me what you can do"))
