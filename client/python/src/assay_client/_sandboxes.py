from __future__ import annotations

import uuid
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from ._events import Events, ExecutionEvent, to_execution_event
from ._transport import Content, Transport
from .types import (
    Execution,
    ExecutionRequest,
    Executions,
    ExecutionsQuery,
    ExecutionState,
    FileInfo,
    Files,
    ListFilesQuery,
    NetworkOffer,
    NetworkPolicy,
    Sandbox,
    SandboxChange,
    SandboxEgressReport,
    Sandboxes,
    SandboxesQuery,
    SandboxMetrics,
    SandboxRequest,
    Snapshot,
    SnapshotRequest,
    Snapshots,
    SnapshotsQuery,
    TerminalSize,
    Unpacked,
)


def sandbox_path(id: str) -> str:
    return f"/api/sandboxes/{quote(id, safe='')}"


def snapshot_path(id: str) -> str:
    return f"/api/snapshots/{quote(id, safe='')}"


def execution_path(id: str, number: int) -> str:
    return f"{sandbox_path(id)}/executions/{int(number)}"


def tagged(etag: str) -> str:
    return etag if etag == "*" else f'"{etag}"'


def flag(value: bool) -> str:
    return "true" if value else "false"


class SandboxCalls:
    """The calls for sandboxes: boxes whose files and processes stay between executions.

    The key must allow the profile `agent`.
    """

    _transport: Transport

    def create_sandbox(
        self, request: SandboxRequest | None = None, *, idempotency_key: str | None = None
    ) -> Sandbox:
        """Creates a sandbox. If one was created before with the same idempotency key, returns that sandbox."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        made = self._transport.json("POST", "/api/sandboxes", repeatable=True, body=request or {}, headers=headers)
        return cast(Sandbox, made)

    def sandbox(self, id: str) -> Sandbox:
        """Returns a sandbox, also after its end."""
        return cast(Sandbox, self._of_sandbox("GET", sandbox_path(id)))

    def sandboxes(self, query: SandboxesQuery | None = None) -> Sandboxes:
        """Returns a page of sandboxes, newest first."""
        return cast(Sandboxes, self._of_sandbox("GET", "/api/sandboxes", query=query))

    def change_sandbox(self, id: str, change: SandboxChange) -> Sandbox:
        """Changes the lifetime, the idle time or the metadata of a sandbox."""
        return cast(Sandbox, self._of_sandbox("PATCH", sandbox_path(id), body=change))

    def pause_sandbox(self, id: str) -> Sandbox:
        """Freezes all programs of a sandbox."""
        return cast(Sandbox, self._of_sandbox("POST", f"{sandbox_path(id)}/pause"))

    def resume_sandbox(self, id: str) -> Sandbox:
        """Continues all programs of a paused sandbox."""
        return cast(Sandbox, self._of_sandbox("POST", f"{sandbox_path(id)}/resume"))

    def take_snapshot(self, id: str, request: SnapshotRequest | None = None) -> Snapshot:
        """Stores the files of a sandbox, of which new sandboxes can be made. This request is not repeated."""
        made = self._transport.json("POST", f"{sandbox_path(id)}/snapshots", repeatable=False, body=request or {})
        return cast(Snapshot, made)

    def snapshots(self, query: SnapshotsQuery | None = None) -> Snapshots:
        """Returns a page of snapshots, newest first."""
        return cast(Snapshots, self._of_sandbox("GET", "/api/snapshots", query=query))

    def snapshot(self, id: str) -> Snapshot:
        """Returns the record of a snapshot."""
        return cast(Snapshot, self._of_sandbox("GET", snapshot_path(id)))

    def delete_snapshot(self, id: str) -> Snapshot:
        """Deletes a snapshot. Sandboxes that began with it keep their files."""
        return cast(Snapshot, self._of_sandbox("DELETE", snapshot_path(id)))

    def sandbox_metrics(self, id: str, *, samples: bool = False) -> SandboxMetrics:
        """Returns what a sandbox uses now, with `samples` also what it used over its life."""
        query = {"samples": flag(samples)}
        return cast(SandboxMetrics, self._of_sandbox("GET", f"{sandbox_path(id)}/metrics", query=query))

    def network_offer(self) -> NetworkOffer:
        """Returns what sandboxes of the key may reach over the network at most."""
        return cast(NetworkOffer, self._of_sandbox("GET", "/api/network"))

    def replace_network(self, id: str, policy: NetworkPolicy) -> Sandbox:
        """Replaces what the programs of a sandbox may reach. Connections that the new policy does not allow are ended."""
        return cast(Sandbox, self._of_sandbox("PUT", f"{sandbox_path(id)}/network", body=policy))

    def sandbox_egress(self, id: str) -> SandboxEgressReport:
        """Returns what a sandbox has reached over the network, or tried to, also after its end."""
        return cast(SandboxEgressReport, self._of_sandbox("GET", f"{sandbox_path(id)}/egress"))

    def end_sandbox(self, id: str) -> Sandbox:
        """Ends a sandbox, with all of its programs and files. Returns its record, with the evidence of its removal."""
        return cast(Sandbox, self._of_sandbox("DELETE", sandbox_path(id)))

    def execute(self, id: str, request: ExecutionRequest) -> Execution:
        """Executes a program, a shell command or code, and waits for its end.

        Returns its record, also if the program failed. The request that starts it is not repeated.
        """
        begun = self.start_execution(id, request, wait=True)
        return self.wait_for_execution(id, begun["number"]) if begun["status"] == "running" else begun

    def start_execution(self, id: str, request: ExecutionRequest, *, wait: bool = False) -> Execution:
        """Starts an execution. This request is not repeated.

        wait: whether the service waits up to 30 s for the end.
        """
        path = f"{sandbox_path(id)}/executions"
        begun = self._transport.json("POST", path, repeatable=False, query={"wait": flag(wait)}, body=request)
        return cast(Execution, begun)

    def wait_for_execution(self, id: str, number: int) -> Execution:
        """Waits for the end of an execution and returns its record."""
        while True:
            now = self._of_sandbox("GET", execution_path(id, number), query={"wait": "true"})
            if now["status"] != "running":
                return cast(Execution, now)

    def execution(self, id: str, number: int) -> Execution:
        """Returns the present record of an execution."""
        return cast(Execution, self._of_sandbox("GET", execution_path(id, number)))

    def executions(self, id: str, query: ExecutionsQuery | None = None) -> Executions:
        """Returns a page of executions, newest first."""
        return cast(Executions, self._of_sandbox("GET", f"{sandbox_path(id)}/executions", query=query))

    def execution_events(self, id: str, number: int) -> Events[ExecutionEvent]:
        """Returns the output of an execution as it comes, and then its end."""
        return Events(self._transport, f"{execution_path(id, number)}/events", to_execution_event)

    def execution_stdout(self, id: str, number: int) -> bytes:
        """Returns the standard output of an execution that has ended, whose bytes need not be text."""
        return self._transport.raw(f"{execution_path(id, number)}/stdout")

    def execution_stderr(self, id: str, number: int) -> bytes:
        """Returns the standard error of an execution that has ended, whose bytes need not be text."""
        return self._transport.raw(f"{execution_path(id, number)}/stderr")

    def send_execution_input(self, id: str, number: int, input: Content, *, end: bool = False) -> ExecutionState:
        """Sends input to an execution with `open_input` or a terminal. This request is not repeated."""
        path = f"{execution_path(id, number)}/input"
        sent = self._transport.json("POST", path, repeatable=False, query={"end": flag(end)}, raw=input)
        return cast(ExecutionState, sent)

    def signal_execution(self, id: str, number: int, signal: str) -> ExecutionState:
        """Sends a signal, such as `SIGINT`, to the main program of an execution. This request is not repeated."""
        path = f"{execution_path(id, number)}/signal"
        return cast(ExecutionState, self._transport.json("POST", path, repeatable=False, body={"signal": signal}))

    def resize_terminal(self, id: str, number: int, size: TerminalSize) -> ExecutionState:
        """Changes the size of the terminal of an execution."""
        return cast(ExecutionState, self._of_sandbox("PUT", f"{execution_path(id, number)}/terminal", body=size))

    def kill_execution(self, id: str, number: int) -> Execution:
        """Kills all processes of an execution and returns its record."""
        return cast(Execution, self._of_sandbox("DELETE", execution_path(id, number)))

    def read_file(self, id: str, path: str) -> bytes:
        """Returns the bytes of a file."""
        return self._transport.raw(f"{sandbox_path(id)}/files", {"path": path})

    def save_file(self, id: str, path: str, file: BinaryIO) -> None:
        """Writes the bytes of a file to `file` as they arrive. This request is not repeated."""
        self._transport.save(f"{sandbox_path(id)}/files", {"path": path}, file)

    def write_file(
        self,
        id: str,
        path: str,
        content: Content,
        *,
        mode: str | None = None,
        parents: bool = False,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> FileInfo:
        """Replaces or creates a file. Programs see its old or its new content, never a part.

        mode: permissions as an octal number, such as "755". parents: whether missing directories are made.
        if_match, if_none_match: an ETag that the replaced file must have, or must not have; "*" stands for any file.
        """
        headers = {"If-Match": if_match, "If-None-Match": if_none_match}
        query = {"path": path, "parents": flag(parents), **({} if mode is None else {"mode": mode})}
        written = self._transport.json(
            "PUT",
            f"{sandbox_path(id)}/files",
            repeatable=isinstance(content, bytes) and if_match is None and if_none_match is None,
            query=query,
            raw=content,
            headers={name: tagged(etag) for name, etag in headers.items() if etag is not None},
        )
        return cast(FileInfo, written)

    def file_info(self, id: str, path: str) -> FileInfo:
        """Returns what a file, directory or link is."""
        return cast(FileInfo, self._of_sandbox("GET", f"{sandbox_path(id)}/files/info", query={"path": path}))

    def list_files(self, id: str, query: ListFilesQuery | None = None) -> Files:
        """Returns a page of the entries of a directory."""
        return cast(Files, self._of_sandbox("GET", f"{sandbox_path(id)}/files/list", query=query))

    def make_directory(self, id: str, path: str) -> FileInfo:
        """Makes a directory, and missing ones above it."""
        return cast(FileInfo, self._of_sandbox("POST", f"{sandbox_path(id)}/files/directories", body={"path": path}))

    def move_file(self, id: str, path: str, to: str) -> FileInfo:
        """Renames a file, directory or link. This request is not repeated."""
        body = {"path": path, "to": to}
        moved = self._transport.json("POST", f"{sandbox_path(id)}/files/move", repeatable=False, body=body)
        return cast(FileInfo, moved)

    def remove_file(self, id: str, path: str, *, recursive: bool = False) -> None:
        """Removes a file, a link or an empty directory; with `recursive`, also a directory with content.

        This request is not repeated.
        """
        query = {"path": path, "recursive": flag(recursive)}
        self._transport.json("DELETE", f"{sandbox_path(id)}/files", repeatable=False, query=query)

    def save_archive(self, id: str, path: str, file: BinaryIO) -> None:
        """Writes a tar archive of what is in a directory to `file`. This request is not repeated."""
        self._transport.save(f"{sandbox_path(id)}/files/archive", {"path": path}, file)

    def write_archive(self, id: str, path: str, archive: Content) -> Unpacked:
        """Unpacks a tar archive into a directory."""
        unpacked = self._transport.json(
            "PUT",
            f"{sandbox_path(id)}/files/archive",
            repeatable=isinstance(archive, bytes),
            query={"path": path},
            raw=archive,
        )
        return cast(Unpacked, unpacked)

    def _of_sandbox(self, method: str, path: str, *, query: Any = None, body: Any = None) -> Any:
        return self._transport.json(method, path, repeatable=True, query=query, body=body)
