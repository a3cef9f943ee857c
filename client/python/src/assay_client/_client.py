from __future__ import annotations

import ssl
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import quote

from ._error import AssayError
from ._events import Events, JudgementEvent, SubmissionEvent, to_judgement_event, to_submission_event
from ._sandboxes import SandboxCalls
from ._transport import Deadline, Transport, is_accepted
from .types import (
    Accepted,
    Batch,
    BatchRequest,
    Content,
    Health,
    Judged,
    Judgement,
    JudgementAccepted,
    JudgementRequest,
    Judgements,
    JudgementsQuery,
    JudgeRequest,
    LanguageDetails,
    Languages,
    LiveInputAccepted,
    Ready,
    Runs,
    Signal,
    SubmissionEgress,
    SubmissionRecord,
    Submissions,
    SubmissionsQuery,
    SubmitRequest,
    Usage,
)

# The shortest time between two requests of a wait, because a service that is stopping does not hold them.
LEAST_BETWEEN_SECS = 1.0


class Assay(SandboxCalls):
    """A client of one service with one key. Threads can share it.

    retries: how often a request is repeated after a lost connection, 408, 429, 502, 503 or 504. A request is not
        repeated if that could run a program twice.
    request_timeout_secs: how long one request may wait for data. The service holds a request that waits for an end for
        30 s.
    ca_file, ssl_context: how the certificate of the service is verified, if the service has its own authority.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retries: int = 5,
        request_timeout_secs: float = 120.0,
        ca_file: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        context = ssl_context or ssl.create_default_context(cafile=ca_file)
        self._transport = Transport(url, key, retries, request_timeout_secs, context)

    def submit(self, request: SubmitRequest, *, idempotency_key: str | None = None) -> Accepted | SubmissionRecord:
        """Submits a program without waiting for its end.

        If a submission was made before with the same idempotency key, returns its current record.
        """
        accepted = self._create("/api/submit", request, idempotency_key, "false", Deadline(None))
        return cast("Accepted | SubmissionRecord", accepted)

    def submit_and_wait(
        self, request: SubmitRequest, *, idempotency_key: str | None = None, timeout_secs: float | None = None
    ) -> SubmissionRecord:
        """Runs a program and returns its final record. Repeats lost requests without running the program twice."""
        return cast(SubmissionRecord, self._create_and_wait("submit", "result", request, idempotency_key, timeout_secs))

    def result(self, id: str) -> SubmissionRecord:
        """Returns the current record of a submission."""
        return cast(SubmissionRecord, self._get(f"/api/result/{quote(id, safe='')}"))

    def wait(self, id: str, *, timeout_secs: float | None = None) -> SubmissionRecord:
        """Waits for the end of a submission and returns its final record."""
        return cast(SubmissionRecord, self._wait("/api/result", id, Deadline(timeout_secs)))

    def stdout(self, id: str) -> bytes:
        """Returns the standard output of a submission, whose bytes need not be text."""
        return self._transport.raw(f"/api/result/{quote(id, safe='')}/stdout")

    def stderr(self, id: str) -> bytes:
        """Returns the standard error of a submission, whose bytes need not be text."""
        return self._transport.raw(f"/api/result/{quote(id, safe='')}/stderr")

    def compile_output(self, id: str) -> bytes:
        """Returns what the compiler wrote for a program that it compiled, such as warnings. The bytes need not be text."""
        return self._transport.raw(f"/api/result/{quote(id, safe='')}/compile-output")

    def runs(self, id: str) -> Runs:
        """Returns how often the program of a submission ran, and the means of its runs."""
        return cast(Runs, self._get(f"/api/result/{quote(id, safe='')}/runs"))

    def egress(self, id: str) -> SubmissionEgress:
        """Returns what a submission with a network may reach, and what it has reached."""
        return cast(SubmissionEgress, self._get(f"/api/result/{quote(id, safe='')}/egress"))

    def usage(self, id: str) -> Usage:
        """Returns the memory and CPU time of a submission that has ended, over the time of its run."""
        return cast(Usage, self._get(f"/api/result/{quote(id, safe='')}/usage"))

    def events(self, id: str) -> Events[SubmissionEvent]:
        """Returns the events of a submission up to its end, with its output if it was submitted with `stream`."""
        return Events(self._transport, f"/api/result/{quote(id, safe='')}/events", to_submission_event)

    def send_input(self, id: str, input: Content) -> LiveInputAccepted:
        """Sends input to the program of a submission with `live_input`.

        This request is not repeated, because the program would get the input twice.
        """
        return cast(LiveInputAccepted, self._post(f"/api/result/{quote(id, safe='')}/input", {"input": input}))

    def end_input(self, id: str) -> LiveInputAccepted:
        """Ends the input of the program of a submission with `live_input`."""
        return cast(LiveInputAccepted, self._post(f"/api/result/{quote(id, safe='')}/input/end", repeatable=True))

    def send_signal(self, id: str, signal: Signal) -> LiveInputAccepted:
        """Sends a signal to the program of a submission with `live_input`. This request is not repeated."""
        return cast(LiveInputAccepted, self._post(f"/api/result/{quote(id, safe='')}/signal", {"signal": signal}))

    def cancel(self, id: str) -> SubmissionRecord:
        """Cancels a submission and returns its final record. A submission that has ended does not change."""
        return cast(SubmissionRecord, self._post(f"/api/result/{quote(id, safe='')}/cancel", repeatable=True))

    def submissions(self, query: SubmissionsQuery | None = None) -> Submissions:
        """Returns a page of submissions, newest first."""
        return cast(Submissions, self._get("/api/submissions", query))

    def batch(self, requests: BatchRequest) -> Batch:
        """Submits up to 50 programs, and returns an id or an error for each.

        This request is not repeated, because it has no idempotency key.
        """
        return cast(Batch, self._post("/api/submissions/batch", requests))

    def judge(self, request: JudgeRequest) -> Judged:
        """Judges a program on up to 50 cases.

        If the judgement takes longer than 30 s, the call fails with status 408 and the id of the judgement, which
        continues. This request is not repeated, because it has no idempotency key.
        """
        return cast(Judged, self._post("/api/judge", request))

    def create_judgement(self, request: JudgementRequest, *, idempotency_key: str | None = None) -> JudgementAccepted:
        """Begins a judgement without waiting for its end.

        If a judgement was begun before with the same idempotency key, the result is for that judgement.
        """
        accepted = self._create("/api/judgements", request, idempotency_key, "false", Deadline(None))
        return cast(JudgementAccepted, accepted)

    def judge_and_wait(
        self, request: JudgementRequest, *, idempotency_key: str | None = None, timeout_secs: float | None = None
    ) -> Judgement:
        """Judges a program and returns the judgement when it has ended. Repeats lost requests without judging twice."""
        ended = self._create_and_wait("judgements", "judgements", request, idempotency_key, timeout_secs)
        return cast(Judgement, ended)

    def judgement(self, id: str) -> Judgement:
        """Returns the current state of a judgement."""
        return cast(Judgement, self._get(f"/api/judgements/{quote(id, safe='')}"))

    def wait_for_judgement(self, id: str, *, timeout_secs: float | None = None) -> Judgement:
        """Waits for the end of a judgement and returns the judgement."""
        return cast(Judgement, self._wait("/api/judgements", id, Deadline(timeout_secs)))

    def judgement_events(self, id: str) -> Events[JudgementEvent]:
        """Returns the events of a judgement up to its end."""
        return Events(self._transport, f"/api/judgements/{quote(id, safe='')}/events", to_judgement_event)

    def cancel_judgement(self, id: str) -> Judgement:
        """Cancels a judgement and its runs, and returns it. A judgement that has ended does not change."""
        return cast(Judgement, self._post(f"/api/judgements/{quote(id, safe='')}/cancel", repeatable=True))

    def rejudge(self, id: str) -> JudgementAccepted:
        """Judges the program of a judgement on the same tests again, as a new judgement.

        This request is not repeated, because it has no idempotency key.
        """
        return cast(JudgementAccepted, self._post(f"/api/judgements/{quote(id, safe='')}/rejudge"))

    def judgements(self, query: JudgementsQuery | None = None) -> Judgements:
        """Returns a page of judgements, newest first."""
        return cast(Judgements, self._get("/api/judgements", query))

    def languages(self) -> Languages:
        """Returns the canonical names of the languages that the service offers."""
        return cast("list[str]", self._get("/api/languages"))

    def language_details(self) -> LanguageDetails:
        return cast("LanguageDetails", self._get("/api/languages/details"))

    def health(self) -> Health:
        """Returns the load of the service."""
        return cast(Health, self._get("/api/health"))

    def ready(self) -> Ready:
        """Checks whether the service is ready.

        If not, raises AssayError with status 503, without repeating the request.
        """
        return cast(Ready, self._transport.json("GET", "/api/health/ready", repeatable=False))

    def _get(self, path: str, query: Any = None, deadline: Deadline | None = None) -> Any:
        return self._transport.json("GET", path, repeatable=True, query=query, deadline=deadline)

    def _post(self, path: str, body: Any = None, repeatable: bool = False) -> Any:
        return self._transport.json("POST", path, repeatable=repeatable, body=body)

    def _create(self, path: str, body: Any, key: str | None, wait: str, deadline: Deadline) -> Any:
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        query = {"wait": wait}
        return self._transport.json(
            "POST", path, repeatable=True, query=query, body=body, headers=headers, deadline=deadline
        )

    def _create_and_wait(
        self, create: str, read: str, body: Any, key: str | None, timeout_secs: float | None
    ) -> Mapping[str, Any]:
        deadline = Deadline(timeout_secs)
        return self._until_ended(
            f"/api/{read}", deadline, lambda: self._create(f"/api/{create}", body, key, "true", deadline)
        )

    def _wait(self, path: str, id: str, deadline: Deadline) -> Mapping[str, Any]:
        return self._until_ended(path, deadline, lambda: self._held(path, id, deadline))

    def _held(self, path: str, id: str, deadline: Deadline) -> Any:
        return self._get(f"{path}/{quote(id, safe='')}", {"wait": "true"}, deadline)

    def _until_ended(self, path: str, deadline: Deadline, first: Callable[[], Any]) -> Mapping[str, Any]:
        """Asks until a submission or judgement has ended.

        path: where it is read. first: sends the first request, which the service may hold.
        """
        id: str | None = None
        ask = first
        while True:
            began = time.monotonic()
            try:
                try:
                    now = ask()
                    if now["status"] in ("completed", "error"):
                        return cast(Mapping[str, Any], now)
                    id = now["id"]
                except AssayError as error:
                    if not is_accepted(error):
                        raise
                    id = error.id
                deadline.pause(LEAST_BETWEEN_SECS - (time.monotonic() - began))
            except AssayError as error:
                left = deadline.left()
                if error.code == "deadline" or (error.code == "connection" and left is not None and left <= 0):
                    raise AssayError("deadline", "it did not end within the deadline", id=id) from error
                raise
            known = str(id)
            ask = lambda: self._held(path, known, deadline)  # noqa: E731
