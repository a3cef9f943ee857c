import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Assay } from "../../client/typescript/src/assay.ts";
import { OperatorError } from "../domain/operator-error.ts";
import { escaped } from "./answer.ts";
import { answered } from "./sandbox-connection.ts";
import { unpack } from "./unpack.ts";

/** A path in a sandbox. */
interface Remote {
  readonly id: string;
  readonly path: string;
}

function remote(text: string): Remote | undefined {
  const [, id, path] = /^([0-9a-f]{8}-[0-9a-f-]{27}):(.*)$/is.exec(text) ?? [];
  return id === undefined ? undefined : { id, path: path === "" || path === undefined ? "." : path };
}

/** Copies a file or directory to or from a sandbox. @throws OperatorError unless exactly one of the two is in a sandbox. */
export async function copy(client: Assay, from: string, to: string): Promise<void> {
  const [source, target] = [remote(from), remote(to)];
  if (source && !target) await download(client, source, to);
  else if (target && !source) await upload(client, from, target);
  else throw new OperatorError("one of the two must be ID:PATH, and the other one a path on this machine");
}

async function upload(client: Assay, from: string, { id, path }: Remote): Promise<void> {
  const local = await stat(from);
  if (local.isDirectory()) {
    const tar = spawn("tar", ["-C", from, "-cf", "-", "."], { stdio: ["ignore", "pipe", "inherit"] });
    const body = Readable.toWeb(tar.stdout) as ReadableStream<Uint8Array>;
    const [code] = await Promise.all([exitOf(tar), answered(client.writeArchive(id, path, body))]);
    if (code !== 0) throw new OperatorError(`tar could not read all of ${from}`);
    return;
  }
  const isDirectory =
    /(^|\/)\.?$/.test(path) || (await client.fileInfo(id, path).catch(() => null))?.type === "directory";
  const body = Readable.toWeb(createReadStream(from)) as ReadableStream<Uint8Array>;
  const mode = (local.mode & 0o777).toString(8).padStart(3, "0");
  const into = isDirectory ? `${path.replace(/\/$/, "")}/${basename(from)}` : path;
  await answered(client.writeFile(id, into, body, { mode, parents: true }));
}

async function download(client: Assay, { id, path }: Remote, to: string): Promise<void> {
  const info = await answered(client.fileInfo(id, path));
  if (info.type === "directory") {
    const archive = await answered(client.readArchive(id, path));
    const left = await unpack(Readable.fromWeb(archive as never), to);
    for (const one of left)
      process.stderr.write(`assay: left out ${escaped(one)}, which leads out of the directory or is no file\n`);
    return;
  }
  const into = (await stat(to).catch(() => null))?.isDirectory() ? join(to, basename(path)) : to;
  // Only complete files remain. A file that exists is replaced, and a new one has the permissions of the one in the sandbox.
  const partial = `${into}.${process.pid}.tmp`;
  try {
    const body = await answered(client.openFile(id, path));
    await pipeline(
      Readable.fromWeb(body as never),
      createWriteStream(partial, { flags: "wx", mode: info.mode & 0o777 }),
    );
    await rename(partial, into);
  } finally {
    await rm(partial, { force: true });
  }
}

async function exitOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  const [code] = (await once(child, "close")) as [number | null];
  return code;
}
