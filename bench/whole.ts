import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKey } from "../src/admin/keys.ts";
import { startService } from "../src/cli/service.ts";
import { loadConfig } from "../src/config.ts";
import { openStore } from "../src/store/open.ts";

/** A whole service with durable storage, over plain HTTP on loopback. */
export interface WholeService {
  /** Submits a program, and waits for its record. @throws if the verdict is not AC. */
  readonly submit: (body: { readonly language: string; readonly code: string }) => Promise<void>;
  /** Begins a judgement, and waits for its end. @throws if the verdict is not AC. */
  readonly judge: (body: object) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startWhole(socket: string, workers: number): Promise<WholeService> {
  const data = mkdtempSync(join(tmpdir(), "assay-bench-"));
  mkdirSync(join(data, "db"));
  const config = loadConfig(
    { data, listen: "127.0.0.1:0", workers: String(workers), launcherSocket: socket, plainHttp: true },
    { ASSAY_LOG_LEVEL: "silent" },
  );
  const store = await openStore(config);
  const { key } = await createKey(store, { name: "bench", requestsPerMinute: 1_000_000, profiles: ["judge"] }, "bench");
  await store.close();
  const service = await startService(config);
  await service.ready();
  const send = async (path: string, body: object) => {
    const { result, verdict = result?.verdict } = await post(service.port, key, path, JSON.stringify(body));
    if (verdict !== "AC") throw new Error(`${path}: ${verdict} instead of AC`);
  };
  return {
    submit: (body) => send("/api/submit", body),
    judge: (body) => send("/api/judgements", body),
    stop: async () => {
      await service.stop();
      rmSync(data, { recursive: true });
    },
  };
}

interface Answer {
  readonly verdict?: string;
  readonly result?: { readonly verdict?: string };
}

function post(port: number, key: string, path: string, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const sent = request({ port, host: "127.0.0.1", path: `${path}?wait=true`, method: "POST", headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      answer.on("end", () => resolve(JSON.parse(text) as Answer));
    });
    sent.on("error", reject).end(body);
  });
}
