import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { read, section } from "../repo/documents.ts";

/** Parameters of the clients in docs/api.md. */
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

const PART = section(read("docs/api.md"), "A client in a few lines");

/** Runs the shell client of docs/api.md, unchanged. */
export function runShellClient(found: Found): Promise<Ran> {
  return run("sh", ["-c", block("sh")], found);
}

/** Runs the JavaScript client of docs/api.md, unchanged. */
export async function runFetchClient(found: Found): Promise<Ran> {
  const directory = mkdtempSync(join(tmpdir(), "assay-readme-"));
  const file = join(directory, "client.mjs");
  writeFileSync(file, block("js"));
  try {
    return await run(process.execPath, [file], found);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function block(language: string): string {
  const [, text] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PART) ?? [];
  if (text === undefined) throw new Error(`docs/api.md has no client in ${language}`);
  return text;
}

function run(program: string, args: string[], { url, key, caPath }: Found): Promise<Ran> {
  const env = { PATH: process.env.PATH, ASSAY_URL: url, ASSAY_KEY: key, ASSAY_CA: caPath, NODE_EXTRA_CA_CERTS: caPath };
  return new Promise((resolve) => {
    execFile(program, args, { env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}
