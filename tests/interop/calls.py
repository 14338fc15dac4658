"""The official Python SDK makes the calls that it reads from standard input, in the form that calls.mjs describes."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import acp
from sdk import World, connection, tell


async def call(agent, method, params):
    """By the SDK's own method for it where it has one that takes all of the params."""
    if method == "authenticate":
        return await agent.authenticate(params["methodId"])
    if method == "session/set_config_option":
        return await agent.set_config_option(
            config_id=params["configId"], session_id=params["sessionId"], value=params["value"]
        )
    if method.startswith("_"):
        return await agent.ext_method(method[1:], params)
    return await agent._conn.send_request(method, params)


async def answer(agent, told):
    try:
        result = await call(agent, told["call"], told["params"])
        if hasattr(result, "model_dump"):
            result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        tell(answer=told["id"], result=result)
    except acp.RequestError as error:
        tell(answer=told["id"], error={"code": error.code, "message": str(error), "data": error.data})


async def main():
    async with AsyncExitStack() as stack:
        agents, calls = {}, []
        while line := await asyncio.to_thread(sys.stdin.readline):
            told = json.loads(line)
            on = told["on"]
            if on not in agents:
                agents[on] = await stack.enter_async_context(connection(World(), on))
            if "id" in told:
                calls.append(asyncio.create_task(answer(agents[on], told)))
            else:
                await agents[on]._conn.send_notification(told["call"], told["params"])
        await asyncio.gather(*calls)


asyncio.run(main())
