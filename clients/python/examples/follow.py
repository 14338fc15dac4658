"""Follows a thread and resumes where it stopped: python follow.py THREAD [CURSOR_FILE].

Prints what happened since the last run, and follows a running turn to its end.
"""

import asyncio
import sys
from pathlib import Path

from acpd_client import connect


async def main(thread_id: str, cursor_file: Path) -> None:
    after = int(cursor_file.read_text()) if cursor_file.exists() else 0
    async with (
        connect(name="follow.py") as client,
        client.follow(thread_id, after=after, start_agent=False) as events,
    ):
        resumed = await events.resumed()
        is_running = resumed["thread"]["status"] in ("running", "waiting")
        # The client reconnects whenever necessary, and no event is missing or comes twice.
        while is_running or (events.cursor or 0) < resumed["latestSeq"]:
            event = await anext(events)
            print(event["params"].get("seq"), event["method"])
            # Without its number, a program that is stopped here receives the event again.
            cursor_file.write_text(str(events.cursor))
            if event["method"] == "turn/completed" and event["params"]["seq"] > resumed["latestSeq"]:
                is_running = False


asyncio.run(main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else f"{sys.argv[1]}.cursor")))
