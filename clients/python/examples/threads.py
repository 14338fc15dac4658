"""Lists all threads, or searches them: python threads.py [WORDS]."""

import asyncio
import sys
from datetime import datetime

from acpd_client import Client, connect


async def list_threads(client: Client) -> None:
    cursor: str | None = None
    while True:
        page = await client.call("thread/list", {"limit": 20, "cursor": cursor})
        for thread in page["data"]:
            updated = datetime.fromtimestamp(thread["updatedAt"] / 1000)
            print(f"{thread['id']}  {updated:%Y-%m-%d %H:%M}  {thread['status']:8}  {thread.get('name') or ''}")
        cursor = page.get("nextCursor")
        if cursor is None:
            break


async def search(client: Client, words: str) -> None:
    found = await client.call("thread/search", {"query": words})
    for hit in found["data"]:
        print(f"{hit['threadId']}  {hit['kind']:12}  {''.join(piece['text'] for piece in hit['snippet'])}")


async def main(words: str) -> None:
    async with connect(name="threads.py") as client:
        if words:
            await search(client, words)
        else:
            await list_threads(client)


asyncio.run(main(" ".join(sys.argv[1:])))
