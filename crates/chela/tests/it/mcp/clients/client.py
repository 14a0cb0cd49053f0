"""The official client for Python: over lines, then over HTTP."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, URL, TOKEN = sys.argv[1:4]


async def search(streams):
    async with ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert "memory_search" in names, names
        found = await session.call_tool("memory_search", {"query": "colour of the tulips"})
        print(found.content[0].text)


async def over_lines():
    server = StdioServerParameters(command=PROGRAM, args=["mcp", "serve"], env=dict(os.environ))
    async with stdio_client(server) as streams:
        await search(streams)


async def over_http():
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        from mcp.client.streamable_http import streamable_http_client
        import mcp.shared._httpx_utils as utils
        client = utils.create_mcp_http_client(headers=headers)
        async with client, streamable_http_client(URL, http_client=client) as streams:
            await search(streams)
    except ImportError:
        from mcp.client.streamable_http import streamablehttp_client
        async with streamablehttp_client(URL, headers=headers) as streams:
            await search(streams)


asyncio.run(over_lines())
asyncio.run(over_http())
