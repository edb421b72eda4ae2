# Tries: to fetch the answer in an event loop of its own.
# Stopped by: seccomp
# Without it: landlock (since its version 4) lets nobody connect by TCP; with neither it gets through.
# %%
import asyncio


async def fetched():
    reader, writer = await asyncio.open_connection("127.0.0.1", __PORT__)
    text = await reader.read()
    writer.close()
    return text


loop = asyncio.SelectorEventLoop()
exec(loop.run_until_complete(fetched()))
