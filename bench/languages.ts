import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { createKey } from "../src/admin/keys.ts";
import { type EngineFlags, ourLanguages } from "../src/cli/engine.ts";
import { startService } from "../src/cli/service.ts";
import { loadConfig } from "../src/config.ts";
import type { Languages } from "../src/languages/load.ts";
import { openStore } from "../src/store/open.ts";
import { PLAIN } from "./plain.ts";
import { quantile, type Row, timesRow } from "./row.ts";
import { timed } from "./service.ts";

/**
 * The smoke test of every language from POST to record, compared with compiling and running it bare in the same image.
 * The service is a real one with durable storage, over plain HTTP on loopback.
 */
export async function languageRows(flags: EngineFlags, socket: string, runs: number): Promise<Row[]> {
  const languages = ourLanguages();
  const floors = await bareTimes(flags, languages, runs);
  const data = mkdtempSync(join(tmpdir(), "assay-bench-"));
  const rows: Row[] = [];
  try {
    const { submit, stop } = await startedService(data, socket);
    for (const { name, smokeTest } of languages.list()) {
      const times: number[] = [];
      for (let i = -2; i < runs; i++) {
        const ms = await timed(() => submit(name, smokeTest.code));
        if (i >= 0) times.push(ms);
      }
      rows.push(timesRow(`hello_${name}`, "ms", times, quantile(floors[name] ?? [], 0.5)));
    }
    await stop();
  } finally {
    rmSync(data, { recursive: true });
  }
  return rows;
}

async function bareTimes(flags: EngineFlags, languages: Languages, runs: number): Promise<Record<string, number[]>> {
  const directory = mkdtempSync(join(tmpdir(), "assay-bare-"));
  const sources = join(directory, "sources");
  for (const { name, source, smokeTest } of languages.list()) {
    mkdirSync(join(sources, name), { recursive: true });
    writeFileSync(join(sources, name, source), smokeTest.code);
  }
  const plan = {
    runs,
    languages: languages.list().map(({ name, compile, execute }) => {
      const own = [compile, execute].flatMap((step) => (step ? [step.command] : []));
      const plain = PLAIN[name];
      return { name, commands: plain ? [...plain.compile, plain.execute] : own };
    }),
  };
  writeFileSync(join(directory, "plan.json"), JSON.stringify(plan));
  const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(here("bare.sh"), [
      join(flags.image, "rootfs"),
      join(directory, "plan.json"),
      sources,
      here("bare.mjs"),
    ]);
    return z.record(z.string(), z.array(z.number())).parse(JSON.parse(stdout));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function startedService(data: string, socket: string) {
  mkdirSync(join(data, "db"));
  const config = loadConfig(
    { data, listen: "127.0.0.1:0", workers: "1", launcherSocket: socket, plainHttp: true },
    { ASSAY_LOG_LEVEL: "silent" },
  );
  const store = await openStore(config);
  const { key } = await createKey(store, { name: "bench", requestsPerMinute: 1_000_000, profiles: ["judge"] }, "bench");
  await store.close();
  const service = await startService(config);
  await service.ready();
  const submit = (language: string, code: string) => post(service.port, key, JSON.stringify({ language, code }));
  return { submit, stop: () => service.stop() };
}

function post(port: number, key: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const sent = request(
      { port, host: "127.0.0.1", path: "/api/submit?wait=true", method: "POST", headers },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.on("end", () => {
          if (JSON.parse(text).result?.verdict === "AC") resolve();
          else reject(new Error(`not AC: ${text}`));
        });
      },
    );
    sent.on("error", reject).end(body);
  });
}
