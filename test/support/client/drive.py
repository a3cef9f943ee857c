"""Makes one call with the client for Python, as drive.ts asks on standard input, and prints the result as JSON."""

import asyncio
import base64
import json
import sys

from assay_client import Assay, AssayError, WebhookError, verify_webhook


# The calls whose last argument is bytes, which JSON has as a text.
BYTES = ("write_file", "write_archive", "send_execution_input")


async def collect(events, within):
    found = []
    try:
        async with asyncio.timeout(within):
            async for event in events:
                found.append(event)
    except TimeoutError:
        pass
    return found


def call(asked):
    if asked["method"] == "verify_webhook":
        body = base64.b64decode(asked["body"])
        return verify_webhook(body, asked["headers"], asked["secret"], **asked["options"])
    if asked["method"] in BYTES:
        asked["args"][-1] = asked["args"][-1].encode()
    assay = Assay(asked["url"], asked["key"], ca_file=asked["ca"], **asked["made"])
    value = getattr(assay, asked["method"])(*asked["args"], **asked["options"])
    if asked["method"].endswith("events"):
        return asyncio.run(collect(value, asked["within"])) if asked["async"] else list(value)
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


try:
    answer = {"value": call(json.load(sys.stdin))}
except AssayError as error:
    fields = ("code", "status", "message", "request_id", "retry_after_secs", "id")
    answer = {"error": {name: getattr(error, name) for name in fields}}
except WebhookError as error:
    answer = {"error": {"message": str(error)}}
print(json.dumps(answer))
