import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ourBuild } from "../../../src/sandbox/build.ts";
import { HeldSandbox, SandboxesFullError, SandboxesImpossibleError } from "../../../src/sandbox/held-sandbox.ts";
import { PROTOCOL_VERSION } from "../../../src/sandbox/protocol.ts";
import { encodeRaw, type Frame, FrameReader, FrameWriter } from "../../../src/sandbox/wire.ts";
import { execution } from "../../support/launcher/sandbox.ts";

const LIMITS = { memoryBytes: 1 << 28, processes: 64, diskBytes: 1 << 26, inodes: 4096, storage: "memory" } as const;
const TOKEN = "0123456789abcdef".repeat(2);

const directory = mkdtempSync(join(tmpdir(), "assay-held-"));
const servers: Server[] = [];
const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
  rmSync(directory, { recursive: true });
});

const hello = () =>
  new FrameWriter("HELLO")
    .int("PROTOCOL", PROTOCOL_VERSION)
    .bytes("BUILD", ourBuild())
    .int("SLOT", 0)
    .bytes("LAUNCHER", "0123456789abcdef")
    .bytes("BACKEND", "cgroup_v2")
    .bytes("SIGNAL_SOURCE", "bpf")
    .int("PRESSURE", 1)
    .bytes("SECCOMP_POLICY", "builtin-deny")
    .bytes("PIDFD_MODE", "native")
    .bytes("KERNEL", "6.18 x86_64")
    .end();
const held = () => new FrameWriter("HELD").bytes("TOKEN", TOKEN).bytes("HELD_MISSING", "own_image: shared").end();

/** A launcher that answers each frame as `answer` says. */
function serve(name: string, greeting: () => Buffer, answer: (frame: Frame, socket: Socket) => void): Promise<string> {
  const path = join(directory, name);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const reader = new FrameReader();
    sockets.push(socket);
    socket.write(greeting());
    socket.on("data", (chunk) => {
      for (const frame of reader.push(chunk)) answer(frame, socket);
    });
    socket.on("error", () => {});
    socket.on("end", () => answer({ name: "END", body: Buffer.from("the end of the connection") }, socket));
  });
  servers.push(server);
  return new Promise((resolve) => server.listen(path, () => resolve(path)));
}

test("a launcher without a free place, or on a machine without sandboxes, is told from other failures", async () => {
  const failed = (name: string, errno = 11) =>
    new FrameWriter("FAILED")
      .bytes("STEP_NAME", name)
      .bytes("STEP_OBJECT", "all are taken")
      .int("STEP_ERRNO", errno)
      .end();
  await assert.rejects(
    HeldSandbox.hold(
      await serve(
        "full",
        () => failed("sandboxes"),
        () => {},
      ),
      LIMITS,
    ),
    SandboxesFullError,
  );
  const impossible = await serve(
    "impossible",
    () => failed("sandboxes", 95),
    () => {},
  );
  await assert.rejects(HeldSandbox.hold(impossible, LIMITS), SandboxesImpossibleError);
  // The machine has no more of something that a sandbox needs: no space for another mount, no memory, no process.
  for (const errno of [28, 12, 11]) {
    const exhausted = await serve(
      `exhausted-${errno}`,
      () => failed("mount", errno),
      () => {},
    );
    await assert.rejects(HeldSandbox.hold(exhausted, LIMITS), SandboxesFullError);
  }
  for (const [name, errno] of [
    ["mount", 22],
    ["sandbox", 11],
  ] as const) {
    const other = await serve(
      `broken-${name}`,
      () => failed(name, errno),
      () => {},
    );
    await assert.rejects(HeldSandbox.hold(other, LIMITS), {
      message: new RegExp(`no box: ${name}`),
      name: "SandboxError",
    });
  }
});

test("a pause that the kernel does not confirm is a failure, and a lost holder is reported", async () => {
  const path = await serve("pause", hello, ({ name }, socket) => {
    if (name === "HOLD") socket.write(held());
    if (name === "PAUSE") socket.write(new FrameWriter("PAUSED").int("FROZEN", 0).end());
    if (name === "RESUME") socket.destroy();
  });
  const box = await HeldSandbox.hold(path, LIMITS);
  const lost = new Promise<Error>((resolve) => box.onLost(resolve));
  assert.deepEqual(box.controlsMissing, ["own_image: shared"]);
  await assert.rejects(box.pause(), /did not stop/);
  await assert.rejects(box.resume(), /closed the connection/);
  assert.match((await lost).message, /closed the connection/);
  await assert.rejects(box.attach(), /closed the connection/);
});

test("input waits for the program, and the end of the connection does not wait for input", async () => {
  const frames: string[] = [];
  let takeOne: () => void = () => {};
  const path = await serve("sandboxes.sock", hello, ({ name }, socket) => {
    if (name === "HOLD") socket.write(held());
  });
  const ended = new Promise<void>((resolve) => {
    void serve("executions.sock", hello, ({ name, body }, socket) => {
      frames.push(name);
      takeOne = () => socket.write(encodeRaw("TAKEN", Buffer.alloc(0)));
      if (name === "END" && body.length > 0) resolve();
    });
  });
  const box = await HeldSandbox.hold(path, LIMITS);
  const slot = await box.attach();
  const running = slot.run(execution("cat", { live: true }));
  running.catch(() => {});
  const input = slot.input(Buffer.alloc(1 << 20));
  const settled = (count: number) =>
    new Promise<void>((resolve, reject) => {
      const check = (left: number): void => {
        if (frames.filter((name) => name === "INPUT").length === count) resolve();
        else if (left === 0) reject(new Error(frames.join(" ")));
        else setTimeout(() => check(left - 1), 10);
      };
      check(500);
    });
  await settled(2);
  takeOne();
  await settled(3);
  slot.kill();
  assert.equal(slot.alive, false);
  await ended;
  await input;
  slot.close();
  await assert.rejects(running);
});
