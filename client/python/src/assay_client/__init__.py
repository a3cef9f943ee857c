"""A client of the HTTP API of Assay."""

from . import types
from ._client import Assay
from ._error import AssayError, FailureCode
from ._events import Events, ExecutionEvent, JudgementEvent, SubmissionEvent
from ._webhook import WebhookError, WebhookMessage, verify_webhook

__all__ = [
    "Assay",
    "AssayError",
    "Events",
    "ExecutionEvent",
    "FailureCode",
    "JudgementEvent",
    "SubmissionEvent",
    "WebhookError",
    "WebhookMessage",
    "types",
    "verify_webhook",
]
