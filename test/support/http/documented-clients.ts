import { execFile } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../repo/documents.ts";

/** Parameters of the clients in docs/. */
export interface Found {
  readonly url: string;
  readonly key: string;
  readonly caPath: string;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs docs/client.sh. */
export function runShellClient(found: Found): Promise<Ran> {
  return run("sh", [join(ROOT, "docs/client.sh")], found);
}

/** Runs docs/client.mjs. */
export function runFetchClient(found: Found): Promise<Ran> {
  return run(process.execPath, [join(ROOT, "docs/client.mjs")], found);
}

function run(program: string, args: string[], { url, key, caPath }: Found): Promise<Ran> {
  const env = { PATH: process.env.PATH, ASSAY_URL: url, ASSAY_KEY: key, ASSAY_CA: caPath, NODE_EXTRA_CA_CERTS: caPath };
  return new Promise((resolve) => {
    execFile(program, args, { env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}
