from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPMessage
from typing import Literal

# Why a call failed: the response was an error, there was no complete response, or the caller's deadline has passed.
FailureCode = Literal["response", "connection", "deadline"]


class AssayError(Exception):
    """The exception of every failed call."""

    def __init__(
        self,
        code: FailureCode,
        message: str,
        *,
        status: int = 0,
        request_id: str | None = None,
        retry_after_secs: float | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code: FailureCode = code
        self.message = message
        # The status of the response; 0 if there was none.
        self.status = status
        # The id of the request in the log of the service; None if there was no response of the service.
        self.request_id = request_id
        # The seconds of the header Retry-After; None if the response had none.
        self.retry_after_secs = retry_after_secs
        # With status 408 or the code "deadline": the id of the submission or judgement, which continues; None if the
        # service has not accepted one.
        self.id = id


def error_of(status: int, headers: HTTPMessage, body: bytes) -> AssayError:
    """Reads an error response; its body may be that of a proxy."""
    text = body.decode("utf-8", "replace")
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        fields = {}
    words = ": ".join(one for one in (fields.get("error"), fields.get("message")) if isinstance(one, str))
    id = fields.get("id")
    return AssayError(
        "response",
        f"{status}: {words or text[:200] or 'no text'}",
        status=status,
        request_id=headers["x-request-id"],
        retry_after_secs=read_retry_after(headers["retry-after"], time.time()),
        id=id if isinstance(id, str) else None,
    )


def read_retry_after(header: str | None, now_secs: float) -> float | None:
    """Returns the seconds to wait from a header with seconds or with an HTTP date; None if it has neither."""
    if header is None:
        return None
    if header.isascii() and header.isdigit() and len(header) < 10:
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now_secs)
    except (ValueError, OverflowError):
        return None
