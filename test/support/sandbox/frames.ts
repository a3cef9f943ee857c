import { CONTROLS } from "../../../src/domain/controls.ts";
import { ourBuild } from "../../../src/sandbox/build.ts";
import { FRAMES, type FrameName, KEYS, type KeyName, PROTOCOL_VERSION } from "../../../src/sandbox/protocol.ts";
import { FrameWriter, ProtocolError } from "../../../src/sandbox/wire.ts";

type Row = { number: number; type: "int" | "bytes"; frame: FrameName; count: "one" | "optional" | "many" };

/** The keys of one frame. */
export function rows(name: FrameName): [KeyName, Row][] {
  return (Object.entries(KEYS) as [KeyName, Row][]).filter(([, key]) => key.frame === name);
}

type Values = Partial<Record<KeyName, number | bigint | string | readonly string[] | undefined>>;

/** A frame with these values; required keys without a value are 0 or "x". */
export function keyed(name: FrameName, values: Values = {}, left?: KeyName): Buffer {
  const writer = new FrameWriter(name);
  for (const [key, { type, count }] of rows(name)) {
    if (key === left) continue;
    const value = values[key] ?? (count === "one" ? (type === "int" ? 0 : "x") : undefined);
    if (value === undefined) continue;
    if (typeof value === "number" || typeof value === "bigint") writer.int(key, value);
    else for (const text of typeof value === "string" ? [value] : value) writer.bytes(key, text);
  }
  return writer.end();
}

/** A frame with `raw` as its body, or with its required keys except `left`. */
export function frame(name: FrameName, raw: Buffer = Buffer.alloc(0), left?: KeyName): Buffer {
  if (raw.length === 0) return keyed(name, {}, left);
  const header = Buffer.from([0, 0, 0, 0, FRAMES[name]]);
  header.writeUInt32LE(raw.length);
  return Buffer.concat([header, raw]);
}

export function hello(values: Values = {}): Buffer {
  return keyed("HELLO", {
    PROTOCOL: PROTOCOL_VERSION,
    BUILD: ourBuild(),
    BACKEND: "cgroup_v2",
    SIGNAL_SOURCE: "bpf",
    SECCOMP_POLICY: "builtin-deny",
    PIDFD_MODE: "native",
    ...values,
  });
}

export function ended(values: Values = {}): Buffer {
  return keyed("ENDED", { EXIT_CODE: 0, KILL_REASON: "none", CONTROL: CONTROLS, ...values });
}

export function torn(values: Values = {}): Buffer {
  return keyed("TEARDOWN", { REAPED: 1, ...values });
}

/** The expected error of a protocol violation, for `assert.throws` and `assert.rejects`. */
export function refused(message: string): { name: string; message: string } {
  return { name: ProtocolError.name, message };
}
