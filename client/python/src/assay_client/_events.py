from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from types import TracebackType
from typing import Any, Generic, Literal, TypedDict, TypeVar

from ._error import AssayError
from ._transport import Transport, delay_secs
from .types import Execution, Judgement, Status, SubmissionRecord

# After so long without data, a connection counts as lost: the service sends at least a comment every 15 s.
SILENCE_SECS = 45.0


class StatusEvent(TypedDict):
    type: Literal["status"]
    status: Status


class OutputEvent(TypedDict):
    """A piece of output, of which `at` is the position of the first byte in the whole output.

    If a later piece has `at` 0 again, the program was started again, for example after the loss of a worker.
    """

    type: Literal["stdout", "stderr"]
    at: int
    text: str


class EndedEvent(TypedDict):
    type: Literal["ended"]
    record: SubmissionRecord


SubmissionEvent = StatusEvent | OutputEvent | EndedEvent


class ExecutionEndedEvent(TypedDict):
    type: Literal["ended"]
    execution: Execution


ExecutionEvent = OutputEvent | ExecutionEndedEvent


class JudgementEvent(TypedDict):
    type: Literal["state", "ended"]
    judgement: Judgement


Event = TypeVar("Event")
Message = tuple[str, str, str]  # type, data, id


def to_submission_event(type: str, value: Any) -> SubmissionEvent | None:
    if type == "ended":
        return {"type": "ended", "record": value}
    if type == "status":
        return {"type": "status", "status": value["status"]}
    if type == "stdout" or type == "stderr":
        return {"type": "stdout" if type == "stdout" else "stderr", "at": value["at"], "text": value["text"]}
    return None  # a type of events that only later versions know


def to_execution_event(type: str, value: Any) -> ExecutionEvent | None:
    if type == "ended":
        return {"type": "ended", "execution": value}
    if type == "stdout" or type == "stderr":
        return {"type": "stdout" if type == "stdout" else "stderr", "at": value["at"], "text": value["text"]}
    return None


def to_judgement_event(type: str, value: Any) -> JudgementEvent | None:
    if type == "state" or type == "ended":
        return {"type": "ended" if type == "ended" else "state", "judgement": value}
    return None


class Events(Generic[Event]):
    """The events of a submission, judgement or execution up to its end, for `for` and `async for`.

    No output is returned twice, even after a lost connection. The iteration also ends when any thread calls `close`, or
    with the end of `with`.
    """

    def __init__(self, transport: Transport, path: str, convert: Callable[[str, Any], Event | None]) -> None:
        self._transport = transport
        self._path = path
        self._convert = convert
        self._lock = threading.Lock()
        self._connection: HTTPConnection | None = None
        self._closed = threading.Event()
        self._events = self._follow()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    async def __aiter__(self) -> AsyncIterator[Event]:
        try:
            while True:
                event = await asyncio.to_thread(self._next)
                if event is None:
                    return
                yield event
        finally:
            self.close()

    def _next(self) -> Event | None:
        # The default avoids StopIteration, which cannot be raised out of a future.
        return next(self._events, None)

    def __enter__(self) -> Events[Event]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            # This wakes up a thread that reads.
            if self._connection and self._connection.sock:
                try:
                    self._connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the service has closed it

    def _follow(self) -> Iterator[Event]:
        known: str | None = None
        last = ""
        failures = 0
        while not self._closed.is_set():
            cause: Exception | None = None
            try:
                connection, response = self._open(last)
                try:
                    # A piece of output can be several events, of which only the last has an id. If the connection is
                    # lost within a piece, the service sends the whole piece again.
                    piece: list[Message] = []
                    for message in read_messages(response):
                        failures = 0
                        piece.append(message)
                        if message[2] == "" and message[0] in ("stdout", "stderr"):
                            continue
                        for type, data, id in piece:
                            last = id or last
                            if type == "status":
                                if data == known:
                                    continue
                                known = data
                            event = self._convert(type, json.loads(data))
                            if event is not None:
                                yield event
                        if message[0] == "ended":
                            return
                        piece = []
                finally:
                    connection.close()
            except AssayError as error:
                if error.code == "response":
                    raise
                cause = error
            except (OSError, HTTPException, ValueError) as error:
                cause = error
            if self._closed.is_set():
                return
            if failures >= self._transport.retries:
                raise AssayError("connection", f"the events of {self._path} ended too early") from cause
            self._closed.wait(delay_secs(failures, None))
            failures += 1

    def _open(self, last: str) -> tuple[HTTPConnection, HTTPResponse]:
        headers = {"Last-Event-ID": last} if last else {}
        connection, response = self._transport.open(self._path, headers, SILENCE_SECS, self._closed.wait)
        with self._lock:
            self._connection = connection
        if self._closed.is_set():
            self.close()
        return connection, response


def read_messages(response: HTTPResponse) -> Iterator[Message]:
    """Reads server-sent events. The service ends lines with a line feed alone."""
    type, data, id = "message", "", ""
    while line := response.readline():
        if not line.endswith(b"\n"):
            return
        text = line.decode("utf-8").rstrip("\n")
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if text == "":
            if data:
                yield type, data, id
            type, data, id = "message", "", ""
        elif name == "event":
            type = value
        elif name == "data":
            data += value
        elif name == "id":
            id = value
