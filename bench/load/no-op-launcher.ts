import { lstatSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { installedLanguages } from "../../src/cli/installed-languages.ts";
import { CONTROLS } from "../../src/domain/controls.ts";
import type { Language } from "../../src/domain/language.ts";
import { ourBuild } from "../../src/sandbox/build.ts";
import { FRAMES, type FrameName, KEYS, type KeyName, PROTOCOL_VERSION } from "../../src/sandbox/protocol.ts";
import { Entries, type Frame, FrameReader, FrameWriter } from "../../src/sandbox/wire.ts";

/**
 * A process that speaks the launcher's protocol and runs nothing, so that only the service's own cost remains. It
 * cannot serve by accident: it starts only as the child of a benchmark, and ends with that; it listens only in a
 * directory that is closed to all users but that of the benchmark's service; it accepts only the smoke test of each
 * language, returns the expected output, and refuses every other program. Each resulting record shows that nothing was run:
 * the system call policy is `disabled`. It claims every control, because the service rejects a report that omits one.
 */
const WARNING = "a no-op of the benchmark: nothing was run";

type Values = Partial<Record<KeyName, number | string | readonly string[]>>;

/** @returns a frame with these values. A required key without a value gets 0 or the warning. */
function keyed(frame: FrameName, values: Values): Buffer {
  const writer = new FrameWriter(frame);
  for (const [name, key] of Object.entries(KEYS) as [KeyName, (typeof KEYS)[KeyName]][]) {
    if (key.frame !== frame) continue;
    const value = values[name] ?? (key.count !== "one" ? undefined : key.type === "int" ? 0 : WARNING);
    if (typeof value === "number") writer.int(name, value);
    else for (const text of [value ?? []].flat()) writer.bytes(name, text);
  }
  return writer.end();
}

function hello(slot: number): Buffer {
  return keyed("HELLO", {
    PROTOCOL: PROTOCOL_VERSION,
    BUILD: ourBuild(),
    SLOT: slot,
    BACKEND: "cgroup_v2",
    SIGNAL_SOURCE: "none",
    SECCOMP_POLICY: "disabled",
    PIDFD_MODE: "fallback",
  });
}

/** @returns all frames that a slot would send for a step with this output. */
function answer(printed: string): Buffer {
  const body = Buffer.from(printed);
  const head = Buffer.alloc(5);
  head.writeUInt32LE(body.length);
  head[4] = FRAMES.STDOUT;
  return Buffer.concat([
    ...(body.length > 0 ? [head, body] : []),
    keyed("ENDED", { EXIT_CODE: 0, KILL_REASON: "none", WALL_NS: 1, STDOUT_SEEN: body.length, CONTROL: CONTROLS }),
    keyed("TEARDOWN", { REAPED: 1 }),
  ]);
}

const languages = installedLanguages().list();
const COMPILED = answer("");
const PRINTED = new Map(languages.map((language) => [language, answer(language.smokeTest.stdout)]));

/** Serves one connection. A step with the same bytes as the one before it gets the same answer, without being parsed. */
function serve(connection: Socket, slot: number): void {
  const reader = new FrameReader();
  let last: { readonly body: Buffer; readonly frames: Buffer } | null = null;
  let compiled: Language | undefined;
  const decide = (frame: Frame): Buffer | null => {
    const step = new Entries(frame);
    if (step.int("KEEP_WORK") === 1) return (compiled && PRINTED.get(compiled)) ?? null;
    const [name, data] = [step.texts("FILE_NAME")[0], step.texts("FILE_DATA")[0]];
    const language = languages.find(({ source, smokeTest: hello }) => source === name && hello.code === data);
    if (!language) return null;
    compiled = language;
    return language.compile ? COMPILED : (PRINTED.get(language) ?? null);
  };
  connection.on("error", () => {}); // the service may close early
  connection.on("data", (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const known = last?.body.equals(frame.body) ? last.frames : null;
      const frames = known ?? decide(frame);
      if (!frames) {
        connection.end(keyed("REFUSED", { REASON: WARNING, OBJECT: "FILE_DATA" }));
        return;
      }
      // The answer to a step that keeps the work directory depends on the step before it, so it is not remembered.
      if (!known) last = frames === COMPILED || compiled?.compile ? null : { body: Buffer.from(frame.body), frames };
      connection.write(frames);
    }
  });
  connection.write(hello(slot));
}

const send = process.send?.bind(process);
if (!send) throw new Error("only the bench starts this: it runs nothing");
process.once("disconnect", () => process.exit());
process.once("message", (socket: unknown) => {
  const path = String(socket);
  if ((lstatSync(dirname(path)).mode & 0o077) !== 0) throw new Error(`${dirname(path)} is open to others`);
  let slots = 0;
  createServer((connection) => serve(connection, slots++)).listen(path, () => send({ listens: path }));
});
