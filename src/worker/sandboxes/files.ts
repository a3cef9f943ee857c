import type { SandboxFiles } from "../../domain/sandboxes/files.ts";
import type { SandboxLimits } from "../../domain/sandboxes/sandbox.ts";
import { FileClient } from "../../files/client.ts";
import type { FileProgram } from "../../files/program.ts";
import type { Taken } from "./attachments.ts";
import type { BoxStep, HeldBox } from "./engine.ts";
import { isFrozen } from "./outcome.ts";
import type { TakeBytes } from "./snapshot-store.ts";
import { BASE_ENV, limitsOf } from "./steps.ts";

export interface SandboxFileClient {
  readonly files: SandboxFiles;
  /** Ends the requests under way. */
  close(): void;
  /** Ends a program that only waits for a request. @returns whether there was one. */
  endIdle(): boolean;
}

export interface FilesOptions {
  /** Takes a connection to the sandbox. */
  readonly take: () => Promise<Taken>;
  /** Rejects unless the sandbox runs: a file program that waits for a request can be frozen. */
  readonly mustRun: () => Promise<void>;
  readonly limits: SandboxLimits;
  /** LivingSandbox.use. */
  readonly use: () => () => void;
}

/** The file program in the image. */
const PROGRAM = "/opt/assay/files";

/** The files of a sandbox. Requests run as executions of the file program, with the rights and the limits of the programs of the sandbox. */
export function filesOf(options: FilesOptions): SandboxFileClient {
  const { take, limits, use, mustRun } = options;
  const client = new FileClient(async () => {
    await mustRun(); // also before a second try
    return await start({ take, limits, use });
  });
  return { files: whileRunning(client, mustRun), close: () => client.close(), endIdle: () => client.endIdle() };
}

/** The same requests, which are refused unless the sandbox runs. */
function whileRunning(files: SandboxFiles, mustRun: () => Promise<void>): SandboxFiles {
  const checked =
    <Args extends unknown[], Answer>(request: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      await mustRun();
      return await request(...args);
    };
  return {
    stat: checked((...args: Parameters<SandboxFiles["stat"]>) => files.stat(...args)),
    list: checked((...args: Parameters<SandboxFiles["list"]>) => files.list(...args)),
    read: checked((...args: Parameters<SandboxFiles["read"]>) => files.read(...args)),
    write: checked((...args: Parameters<SandboxFiles["write"]>) => files.write(...args)),
    makeDirectory: checked((...args: Parameters<SandboxFiles["makeDirectory"]>) => files.makeDirectory(...args)),
    move: checked((...args: Parameters<SandboxFiles["move"]>) => files.move(...args)),
    remove: checked((...args: Parameters<SandboxFiles["remove"]>) => files.remove(...args)),
    archive: checked((...args: Parameters<SandboxFiles["archive"]>) => files.archive(...args)),
    unpack: checked((...args: Parameters<SandboxFiles["unpack"]>) => files.unpack(...args)),
    watch: checked((...args: Parameters<SandboxFiles["watch"]>) => files.watch(...args)),
  };
}

/** Gives what a snapshot contains, while a box is frozen. @throws FileError, and what `take` throws */
export async function saveFiles(
  box: HeldBox,
  limits: SandboxLimits,
  take: TakeBytes,
): Promise<{ readonly files: number }> {
  return await alone(box, limits, true, (client) => client.save(take));
}

/** Replaces the files of a new box, in which nothing else runs. @throws FileError, and what the archive throws */
export async function restoreFiles(
  box: HeldBox,
  limits: SandboxLimits,
  archive: AsyncGenerator<Buffer, void, undefined>,
): Promise<void> {
  try {
    await alone(box, limits, false, (client) => client.restore(archive));
  } finally {
    await archive.return(); // closes its file, also if it was not read to its end
  }
}

/** Makes a request to a program of its own, which is not one of the executions of the sandbox. */
async function alone<T>(
  box: HeldBox,
  limits: SandboxLimits,
  whileFrozen: boolean,
  request: (client: FileClient) => Promise<T>,
): Promise<T> {
  const take = async (): Promise<Taken> => {
    const attached = await box.attach();
    return { box: attached, give: () => attached.close() };
  };
  // One program makes all the files that many executions have made, and each of them had its share of the kernel's memory.
  const own = { whileFrozen, kernelBytes: limits.memoryBytes };
  const client = new FileClient(() => start({ take, limits, use: () => () => {}, ...own }));
  try {
    return await request(client);
  } finally {
    client.close();
  }
}

type StartOptions = Pick<FilesOptions, "take" | "limits" | "use"> & Pick<BoxStep, "whileFrozen" | "kernelBytes">;

async function start({ take, limits, use, ...own }: StartOptions): Promise<FileProgram> {
  const taken = await take();
  const done = use();
  const output = new Handover();
  const running = taken.box.run(
    {
      command: [PROGRAM],
      env: BASE_ENV,
      limits: limitsOf(limits, { stdout_bytes: 1, stderr_bytes: 1 }, true),
      stdin: Buffer.alloc(0),
      live: true,
      cwd: "/",
      terminal: null,
      leaveProcesses: false,
      paced: true,
      ...own,
    },
    // The program says nothing on standard error; another program in its place may, and waits for ever.
    (stream, bytes) => (stream === "stdout" ? output.give(bytes) : undefined),
  );
  running.then(
    () => taken.give(true),
    () => taken.give(false),
  );
  void running
    .catch(() => {})
    .then(() => {
      output.end();
      done();
    });
  return {
    output,
    write: (bytes) => taken.box.input(bytes),
    kill() {
      output.end();
      taken.box.kill();
    },
    wasRefused: () => running.then(isFrozen, () => false),
  };
}

/** So many bytes of a program may wait for the reader before the program has to wait. Each chunk counts as so many more. */
const [AHEAD_BYTES, CHUNK_BYTES] = [131_072, 1_024];

/** Passes chunks from the program to one reader: beyond AHEAD_BYTES, the program waits until the reader has taken a chunk. */
class Handover implements AsyncIterable<Buffer> {
  readonly #chunks: { readonly bytes: Buffer; readonly taken: () => void }[] = [];
  #bytes = 0;
  #woken = Promise.withResolvers<void>();
  #isOver = false;

  give(bytes: Buffer): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#chunks.push({ bytes, taken: resolve });
    this.#bytes += bytes.length + CHUNK_BYTES;
    this.#woken.resolve();
    return this.#bytes < AHEAD_BYTES ? undefined : promise;
  }

  /** What was given and not taken still comes. The connection is read on, because the report of the program comes next. */
  end(): void {
    this.#isOver = true;
    for (const { taken } of this.#chunks) taken();
    this.#woken.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      this.#woken = Promise.withResolvers();
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#bytes -= chunk.bytes.length + CHUNK_BYTES;
        // Before the reader asks for more: until then, the connection is not read, and what it says about input is needed to write more.
        chunk.taken();
        yield chunk.bytes;
      } else if (this.#isOver) {
        return;
      } else {
        await this.#woken.promise;
      }
    }
  }
}
