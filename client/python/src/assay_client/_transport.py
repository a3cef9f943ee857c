from __future__ import annotations

import json
import random
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlencode, urlsplit

from ._error import AssayError, error_of

TEMPORARY = frozenset((408, 429, 502, 503, 504))
FIRST_DELAY_SECS = 0.5
MAX_DELAY_SECS = 8.0
# If Retry-After is longer, the call fails, so that the caller decides whether to wait.
MAX_RETRY_AFTER_SECS = 120.0

CHUNK_BYTES = 1 << 16

T = TypeVar("T")
# Bytes of a file. A file and an iterable are read while they are sent.
Content = bytes | BinaryIO | Iterable[bytes]


class Raw:
    """A body that is not JSON."""

    def __init__(self, content: Content) -> None:
        self.content = content


class Deadline:
    """The time at which a call must have ended. If `seconds` is None, there is no such time."""

    def __init__(self, seconds: float | None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        return None if self._at is None else self._at - time.monotonic()

    def within(self, seconds: float) -> float:
        """Returns `seconds`, or the time to the deadline if that is shorter. Raises AssayError after the deadline."""
        left = self.left()
        if left is None:
            return seconds
        if left <= 0:
            raise AssayError("deadline", "it did not end within the deadline")
        return min(seconds, left)

    def pause(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(self.within(seconds))


class Transport:
    """Sends requests, and repeats those that fail temporarily.

    Each request has a connection of its own, so threads can share a Transport.
    """

    def __init__(
        self, url: str, key: str, retries: int, request_timeout_secs: float, ssl_context: ssl.SSLContext | None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or parts.hostname is None:
            raise ValueError("the URL is not https://HOST[:PORT]")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port
        self._base = parts.path.rstrip("/")
        self._key = key
        self.retries = retries
        self._timeout = request_timeout_secs
        self._tls = ssl_context or ssl.create_default_context()

    def json(
        self,
        method: str,
        path: str,
        *,
        repeatable: bool,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        raw: Content | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: Deadline | None = None,
    ) -> Any:
        """`raw` is a body that is not JSON. A file or an iterable is read while it is sent."""

        def read(response: HTTPResponse) -> Any:
            return json.loads(response.read())

        if raw is not None:
            body = Raw(raw)

        return self._repeating(method, path, repeatable, query, body, headers, deadline or Deadline(None), read)

    def raw(self, path: str, query: Mapping[str, Any] | None = None) -> bytes:
        def read(response: HTTPResponse) -> bytes:
            return response.read()

        return self._repeating("GET", path, True, query, None, None, Deadline(None), read)

    def save(self, path: str, query: Mapping[str, Any], file: BinaryIO) -> None:
        """Writes the body of a GET request to a file. The request is not repeated."""

        def read(response: HTTPResponse) -> None:
            while chunk := response.read(CHUNK_BYTES):
                file.write(chunk)

        self._repeating("GET", path, False, query, None, None, Deadline(None), read)

    def open(
        self, path: str, headers: Mapping[str, str], silence_secs: float, pause: Callable[[float], object]
    ) -> tuple[HTTPConnection, HTTPResponse]:
        """Sends a GET request. The caller reads the body of the response and closes the connection."""
        tries = 0
        while True:
            try:
                connection = self._connect(silence_secs)
                try:
                    return connection, self._ask(connection, "GET", path, None, None, headers)
                except BaseException:
                    connection.close()
                    raise
            except AssayError as error:
                if tries >= self.retries or not is_temporary(error):
                    raise
                pause(delay_secs(tries, error.retry_after_secs))
            tries += 1

    def _repeating(
        self,
        method: str,
        path: str,
        repeatable: bool,
        query: Mapping[str, Any] | None,
        body: Any,
        headers: Mapping[str, str] | None,
        deadline: Deadline,
        read: Callable[[HTTPResponse], T],
    ) -> T:
        tries = 0
        while True:
            timeout = deadline.within(self._timeout)
            try:
                with closing(self._connect(timeout)) as connection:
                    response = self._ask(connection, method, path, query, body, headers)
                    try:
                        return read(response)
                    except (OSError, HTTPException, ValueError) as cause:
                        raise incomplete(method, path) from cause
            except AssayError as error:
                if not repeatable or tries >= self.retries or not is_temporary(error):
                    raise
                deadline.pause(delay_secs(tries, error.retry_after_secs))
            tries += 1

    def _connect(self, timeout: float) -> HTTPConnection:
        if self._secure:
            return HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        return HTTPConnection(self._host, self._port, timeout=timeout)

    def _ask(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        headers: Mapping[str, str] | None,
    ) -> HTTPResponse:
        sent = {"X-API-Key": self._key, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/octet-stream" if isinstance(body, Raw) else "application/json"
        target = self._base + path + (f"?{urlencode(query)}" if query else "")
        try:
            # Redirects are not followed: one would send the key to another address.
            connection.request(method, target, encoded(body), sent)
            response = connection.getresponse()
            if 200 <= response.status < 300:
                return response
            error = error_of(response.status, response.headers, response.read())
        except (OSError, HTTPException) as cause:
            raise incomplete(method, path) from cause
        raise error


def encoded(body: Any) -> Content | None:
    if body is None:
        return None
    return body.content if isinstance(body, Raw) else json.dumps(body).encode()


def incomplete(method: str, path: str) -> AssayError:
    return AssayError("connection", f"no complete response: {method} {path}")


def is_accepted(error: AssayError) -> bool:
    """Whether the error means that the service accepted a run, and did not wait longer for its end."""
    return error.status == 408 and error.id is not None


def is_temporary(error: AssayError) -> bool:
    if is_accepted(error) or (error.retry_after_secs or 0) > MAX_RETRY_AFTER_SECS:
        return False
    return error.code == "connection" or error.status in TEMPORARY


def delay_secs(tries: int, retry_after_secs: float | None) -> float:
    """Returns the pause before the next try, which is never shorter than Retry-After.

    It grows with each try and is random, so that not all clients come back at the same time.
    """
    return (retry_after_secs or 0.0) + random.random() * min(MAX_DELAY_SECS, FIRST_DELAY_SECS * 2.0**tries)
