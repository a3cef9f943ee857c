from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from .types import Judgement, SubmissionRecord


class WebhookError(Exception):
    """The message lacks a header, has no valid signature, or its time is not within the tolerance."""


class SubmissionMessage(TypedDict):
    type: Literal["submission"]
    id: str
    record: SubmissionRecord


class JudgementMessage(TypedDict):
    type: Literal["judgement"]
    id: str
    judgement: Judgement


WebhookMessage = SubmissionMessage | JudgementMessage


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    signing: Literal["standard", "raw"] = "standard",
    tolerance_secs: float = 300,
) -> WebhookMessage:
    """Verifies a message of the service by its signature and time, and returns it.

    Raises WebhookError if the message is not valid, and ValueError if a secret is malformed.

    body: the bytes that were received, not parsed and serialised again.
    secret: the secret of the endpoint (`whsec_…`), or several secrets, one of which must have signed the message.
    signing: "raw" if the endpoint was created with `--signing raw`.
    tolerance_secs: how much the time of the message may differ from the clock of this machine.

    The `id` of the message is the same in every attempt to deliver it, so it identifies duplicates.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, timestamp, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise WebhookError(f"the message has no header {missing.args[0]}") from None
    # int() fails for thousands of digits.
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > tolerance_secs:
        raise WebhookError("the time of the message is not within the tolerance")
    signed = f"{id}.{timestamp}.".encode() + body
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [
        b"v1," + base64.b64encode(hmac.new(_key_of(one, signing), signed, hashlib.sha256).digest()) for one in secrets
    ]
    valid = False
    for signature in signatures.encode().split(b" "):
        for one in expected:
            valid = hmac.compare_digest(signature, one) or valid
    if not valid:
        raise WebhookError("no signature of the message is valid")
    value = json.loads(body)
    if value.get("type") == "judgement.completed":
        return {"type": "judgement", "id": id, "judgement": value["data"]}
    return {"type": "submission", "id": id, "record": value}


def _key_of(secret: str, signing: Literal["standard", "raw"]) -> bytes:
    try:
        key = secret.encode() if signing == "raw" else base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    # An empty key is refused, because anyone could sign with it.
    if not key or (signing == "standard" and not secret.startswith("whsec_")):
        raise ValueError("the secret is not whsec_ followed by base64")
    return key
