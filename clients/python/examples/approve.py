"""Answers an agent's questions: allows changes to files below this folder, and declines everything else."""

import asyncio
import os
import sys
from pathlib import Path

from acpd_client import APPROVALS, connect
from acpd_client.protocol import Approval, CallSubject, InputWanted, QuestionAnswered


def is_allowed(subject: CallSubject) -> bool:
    # What the daemon will do, not what the agent says about it.
    if subject["type"] != "file" or subject["access"] != "edit":
        return False
    # A link below the folder can lead out of it.
    paths = (subject["path"], subject.get("realPath") or subject["path"])
    return all(Path(path).is_relative_to(os.path.realpath(".")) for path in paths)


async def decide(approval: Approval) -> QuestionAnswered:
    subjects = approval["subjects"]
    allowed = bool(subjects) and all(is_allowed(subject) for subject in subjects)
    print(f"{'allowed' if allowed else 'declined'}: {approval['title']}")
    return {"decision": "accept" if allowed else "decline"}


async def dismiss(question: InputWanted) -> QuestionAnswered:
    print(f"not answered: {question['title']}")
    return {"dismissed": True}


async def main(prompt: str) -> None:
    async with connect(name="approve.py", capabilities={"approvals": True}) as client:
        for method in APPROVALS:
            client.answer(method, decide)
        client.answer("item/tool/requestUserInput", dismiss)

        started = await client.call("thread/start", {"agentType": "demo", "cwd": os.getcwd(), "text": prompt})
        async with client.follow(started["thread"]["id"], after=0) as events:
            async for event in events:
                if event["method"] == "turn/completed":
                    print(f"the turn {event['params']['turn']['status']}")
                    break


asyncio.run(main(" ".join(sys.argv[1:]) or "Show me what you can do"))
