import { lstatSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { ourLanguages } from "../../src/cli/engine.ts";
import type { Language } from "../../src/domain/language.ts";
import { ourBuild } from "../../src/sandbox/build.ts";
import { FRAMES, type FrameName, KEYS, type KeyName, PROTOCOL_VERSION } from "../../src/sandbox/protocol.ts";
import { Entries, type Frame, FrameReader, FrameWriter } from "../../src/sandbox/wire.ts";

/**
 * A process of its own that speaks the launcher's protocol and runs nothing: what is left is the service's own cost.
 * It cannot serve by accident. It starts only as the child of a bench that holds its channel, and ends with it; it
 * listens only in a directory that is closed to all but the user of that bench's service; it knows the hello of each language,
 * answers what that would print, and refuses every other program; and each record that comes of it says so: its policy of system calls
 * is `disabled`, and no control was applied.
 */
const WARNING = "a no-op of the benchmark: nothing was run";

type Values = Partial<Record<KeyName, number | string>>;

/** A frame with these values; what must be there and is not given is 0 or the warning. */
function keyed(frame: FrameName, values: Values): Buffer {
  const writer = new FrameWriter(frame);
  for (const [name, key] of Object.entries(KEYS) as [KeyName, (typeof KEYS)[KeyName]][]) {
    if (key.frame !== frame) continue;
    const value = values[name] ?? (key.count !== "one" ? undefined : key.type === "int" ? 0 : WARNING);
    if (typeof value === "number") writer.int(name, value);
    else if (value !== undefined) writer.bytes(name, value);
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

/** All that a slot says about a step that printed this. */
function answer(printed: string): Buffer {
  const body = Buffer.from(printed);
  const head = Buffer.alloc(5);
  head.writeUInt32LE(body.length);
  head[4] = FRAMES.STDOUT;
  return Buffer.concat([
    ...(body.length > 0 ? [head, body] : []),
    keyed("ENDED", { EXIT_CODE: 0, KILL_REASON: "none", WALL_NS: 1, STDOUT_SEEN: body.length }),
    keyed("TORN", { REAPED: 1 }),
  ]);
}

const languages = ourLanguages().list();
const COMPILED = answer("");
const PRINTED = new Map(languages.map((language) => [language, answer(language.hello.stdout)]));

/** One connection. A step that is byte for byte the one before has the same answer. */
function serve(connection: Socket, slot: number): void {
  const reader = new FrameReader();
  let last: { readonly body: Buffer; readonly said: Buffer } | null = null;
  let compiled: Language | undefined;
  const decide = (frame: Frame): Buffer | null => {
    const step = new Entries(frame);
    if (step.int("KEEP_WORK") === 1) return (compiled && PRINTED.get(compiled)) ?? null;
    const [name, data] = [step.texts("FILE_NAME")[0], step.texts("FILE_DATA")[0]];
    const language = languages.find(({ source, hello }) => source === name && hello.code === data);
    if (!language) return null;
    compiled = language;
    return language.compile ? COMPILED : (PRINTED.get(language) ?? null);
  };
  connection.on("error", () => {}); // the service may be gone before all is said
  connection.on("data", (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const known = last?.body.equals(frame.body) ? last.said : null;
      const said = known ?? decide(frame);
      if (!said) {
        connection.end(keyed("REFUSED", { REASON: WARNING, OBJECT: "FILE_DATA" }));
        return;
      }
      // What keeps its work depends on the step before.
      if (!known) last = said === COMPILED || compiled?.compile ? null : { body: Buffer.from(frame.body), said };
      connection.write(said);
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
