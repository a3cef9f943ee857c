import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, fetch as undiciFetch } from "undici";
import { Assay, AssayError, verifyWebhook, WebhookError } from "../../../client/typescript/src/index.ts";
import { ROOT } from "../repo/documents.ts";

/** One call of a client. Names and options are those of TypeScript. */
export interface Asked {
  readonly port: number;
  readonly key: string;
  readonly caPath: string;
  readonly method: string;
  readonly args?: readonly unknown[];
  readonly options?: { readonly idempotencyKey?: string; readonly timeoutMs?: number; readonly samples?: boolean };
  readonly retries?: number;
  /** Whether Python iterates with `async for`. */
  readonly isAsync?: boolean;
  /** Ends the iteration of events after this time. */
  readonly withinMs?: number;
}

export interface Verified {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly secret: string | readonly string[];
  readonly signing?: "standard" | "raw";
}

export interface Failed {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly requestId: string | null;
  readonly retryAfterSecs: number | null;
  readonly id: string | null;
}

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
export type Answered = { readonly value?: any; readonly error?: Failed };

/** A client, driven by data, so that both pass the same tests. */
export interface Driven {
  readonly call: (asked: Asked) => Promise<Answered>;
  readonly verify: (verified: Verified) => Promise<Answered>;
}

export const CLIENTS: Readonly<Record<string, Driven>> = {
  TypeScript: {
    call: ({ port, key, caPath, method, args = [], options = {}, retries, withinMs }) =>
      answered(async () => {
        const agent = new Agent({ connect: { ca: readFileSync(caPath) } });
        const trusting = (input: unknown, init: object) => undiciFetch(input as URL, { ...init, dispatcher: agent });
        try {
          const made = { fetch: trusting as unknown as typeof fetch, ...(retries !== undefined && { retries }) };
          const assay = new Assay({ url: `https://127.0.0.1:${port}`, key, ...made });
          const signal = withinMs === undefined ? undefined : AbortSignal.timeout(withinMs);
          const given = { ...options, ...(signal && { signal }) };
          const value = (assay as unknown as Record<string, (...args: unknown[]) => unknown>)[method]?.(
            ...args,
            ...(Object.keys(given).length > 0 ? [given] : []),
          );
          if (/events$/i.test(method)) return await collect(value as AsyncIterable<unknown>, signal);
          const result = await value;
          return result instanceof Uint8Array ? { base64: Buffer.from(result).toString("base64") } : result;
        } finally {
          await agent.destroy();
        }
      }),
    verify: ({ body, headers, ...how }) => answered(() => verifyWebhook({ body, headers }, how)),
  },
  Python: {
    call: ({
      port,
      key,
      caPath,
      method,
      args = [],
      options: { timeoutMs, ...options } = {},
      retries,
      isAsync = false,
      withinMs,
    }) =>
      python({
        url: `https://127.0.0.1:${port}`,
        ...{ key, ca: caPath, method: snake(method), args, async: isAsync },
        within: withinMs === undefined ? null : withinMs / 1000,
        options: {
          ...Object.fromEntries(Object.entries(options).map(([name, value]) => [snake(name), value])),
          ...(timeoutMs !== undefined && { timeout_secs: timeoutMs / 1000 }),
        },
        made: retries === undefined ? {} : { retries },
      }),
    verify: ({ body, headers, secret, ...options }) =>
      python({ method: "verify_webhook", body: body.toString("base64"), headers, secret, options }),
  },
};

const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

async function collect(events: AsyncIterable<unknown>, signal?: AbortSignal): Promise<unknown[]> {
  const all = [];
  try {
    for await (const event of events) all.push(event);
  } catch (error) {
    if (error !== signal?.reason) throw error;
  }
  return all;
}

async function answered(call: () => Promise<unknown>): Promise<Answered> {
  try {
    return { value: await call() };
  } catch (error) {
    if (!(error instanceof AssayError || error instanceof WebhookError)) throw error;
    return { error: { ...(error as AssayError), message: error.message } };
  }
}

function python(asked: object): Promise<Answered> {
  const env = {
    PATH: process.env.PATH,
    PYTHONPATH: join(ROOT, "client/python/src"),
    // The checkout belongs to root and is shared.
    PYTHONDONTWRITEBYTECODE: "1",
  };
  return new Promise((resolve, reject) => {
    const script = join(import.meta.dirname, "drive.py");
    const child = execFile("python3", [script], { env, timeout: 120_000 }, (error, stdout, stderr) => {
      if (error) return reject(new Error(`${error.message}: ${stderr}`));
      const { value, error: failed } = JSON.parse(stdout);
      if (!failed) return resolve({ value });
      const { request_id: requestId, retry_after_secs: retryAfterSecs, ...fields } = failed;
      resolve({ error: { ...fields, requestId, retryAfterSecs } });
    });
    child.stdin?.end(JSON.stringify(asked));
  });
}
