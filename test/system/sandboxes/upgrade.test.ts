import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../../src/store/open.ts";
import { assay, dataDirectory, NOBODY, type Serving, serveWith } from "../../support/cli/processes.ts";
import { environment, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { scrape, total } from "../../support/metrics/scrape.ts";
import { send } from "../../support/programs/product.ts";
import { postgresServer } from "../../support/store/temporary.ts";
import { makeNext } from "../faults/next-release.ts";

/*
 * What the units do with the service and the launcher in a restart, an upgrade that changes neither the launcher nor the image, and a stop: the
 * service gets SIGTERM with --keep-sandboxes, and the next one starts with the same data directory and launcher. In user-mode Linux, where
 * test/system/deploy/boot has the units themselves, there are no sandboxes.
 */

const CHECKOUT = resolve(import.meta.dirname, "../../..");
const NEXT_VERSION = "99.0.0";
const MIB = 1_048_576;

interface Json {
  readonly id: string;
  readonly number: number;
  readonly state: string;
  readonly end_reason: string | null;
  readonly output: { readonly stdout: string };
  readonly result: { readonly verdict: string; readonly error_message: string };
}

/** A copy of this checkout that is the next release: another version, and one more migration. */
function nextRelease(t: TestContext): string {
  const copy = mkdtempSync(join(environment("ASSAY_TEST_DATA"), "next-"));
  t.after(() => rmSync(copy, { recursive: true }));
  chmodSync(copy, 0o755);
  for (const part of ["src", "package.json"]) cpSync(join(CHECKOUT, part), join(copy, part), { recursive: true });
  for (const part of ["docs", "languages", "launcher", "node_modules"])
    symlinkSync(join(CHECKOUT, part), join(copy, part));
  const path = join(copy, "package.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), version: NEXT_VERSION }));
  makeNext(copy);
  return join(copy, "src/main.ts");
}

for (const database of ["SQLite", "PostgreSQL"] as const)
  test(`${database}: sandboxes survive a restart of the service and an upgrade, with the programs that they run`, {
    timeout: 300_000,
  }, async (t) => {
    const launcher = await startLauncher({ slots: 3, sandboxes: 4, sandboxMemory: 2048 * MIB, clientUid: NOBODY });
    const data = dataDirectory(t);
    const where: string[] = [];
    if (database === "PostgreSQL") {
      const server = await postgresServer();
      const url = server.url(await server.createDatabase());
      await (await openStore({ database: { kind: "postgres", url } })).close();
      where.push("--database", url);
    }
    const operator = join(data, "db", "operator.sock");
    const env = { ASSAY_SANDBOXES: "4", ASSAY_SANDBOX_MEMORY: String(2048 * MIB), ASSAY_PARK_BYTES: "0" };
    const own = ["--workers", "1", "--launcher-socket", launcher.socket, "--keep-sandboxes"];
    const start = (main?: string) =>
      serveWith(env, t, data, [...own, ...where, "--operator-listen", `unix:${operator}`], main);
    const stop = async (service: Serving) => {
      service.process.kill("SIGTERM");
      assert.equal(await service.ended, 0, service.output());
    };
    let service = await start();
    const made = await assay("keys", "create", "--name", "k", "--profiles", "agent", "--data", data, ...where);
    const agent = new Agent({ rejectUnauthorized: false });
    const ask = async (method: string, path: string, body?: object) => {
      const { status, json } = await send(agent, service.port, made.stdout.trim(), method, path, body);
      return { status, json: json as Json };
    };
    const create = async () => {
      const { status, json } = await ask("POST", "/api/sandboxes", { env: { SECRET: "of the sandbox" } });
      assert.equal(status, 201, JSON.stringify(json));
      return `/api/sandboxes/${json.id}`;
    };
    const [lives, rests] = [await create(), await create()];
    const output = async (shell: string) => {
      const { status, json } = await ask("POST", `${lives}/executions`, { shell });
      assert.deepEqual([status, json.result?.verdict], [200, "AC"], JSON.stringify(json));
      return json.output.stdout;
    };
    const shell = "echo $$ > pid; while true; do date +%s.%N > beat.new; mv beat.new beat; sleep 0.05; done";
    const server = await ask("POST", `${lives}/executions`, { shell, background: true });
    assert.equal(server.status, 201, JSON.stringify(server.json));
    const beat = () => output("cat beat 2>/dev/null || true");
    while ((await beat()) === "") await sleep(20);
    const pid = await output("cat pid");
    await output("echo kept > note");
    assert.equal((await ask("POST", `${rests}/pause`)).status, 200);

    const versions: string[] = [];
    const next = nextRelease(t);
    for (const main of [undefined, next]) {
      await stop(service);
      service = await start(main);
      const info = [...(await scrape(operator)).keys()].find((series) => series.startsWith("assay_build_info"));
      versions.push(/version="([^"]*)"/.exec(info ?? "")?.[1] ?? "");
      assert.equal((await ask("GET", lives)).json.state, "running");
      assert.equal((await ask("GET", rests)).json.state, "paused");
      assert.equal(await output('cat note; echo "$SECRET"'), "kept\nof the sandbox\n");
      const before = await beat();
      while ((await beat()) === before) await sleep(20);
      assert.equal(await output("cat pid; kill -0 $(cat pid)"), pid, "it is the same program");
      assert.equal(total(await scrape(operator), "assay_sandboxes", { kind: "held" }), 2);
    }
    assert.equal(versions[1], NEXT_VERSION);
    assert.notEqual(versions[0], NEXT_VERSION);
    const ended = (await ask("GET", `${lives}/executions/${server.json.number}`)).json;
    assert.equal(ended.result.verdict, "IE");
    assert.match(ended.result.error_message, /restarted.*its programs go on/);
    assert.equal((await ask("POST", `${rests}/resume`)).status, 200);
    assert.equal((await ask("POST", `${rests}/executions`, { shell: "true" })).json.result.verdict, "AC");

    if (database === "SQLite") {
      // As `systemctl stop assay`: the launcher stops after the service, and takes the sandboxes with it.
      await stop(service);
      assert.equal(await launcher.stop(), 0, launcher.stderr());
      assert.deepEqual(await tracesLeft(launcher), []);
      const other = await startLauncher({
        slots: 3,
        sandboxes: 4,
        sandboxMemory: 2048 * MIB,
        clientUid: NOBODY,
        after: launcher,
      });
      service = await start(next);
      for (const path of [lives, rests]) {
        const { state, end_reason: reason } = (await ask("GET", path)).json;
        assert.deepEqual([state, reason], ["ended", "shutdown"]);
      }
      await stop(service);
      assert.equal(await other.stop(), 0, other.stderr());
      return;
    }
    for (const path of [lives, rests]) assert.equal((await ask("DELETE", path)).status, 200);
    await stop(service);
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    assert.deepEqual(await tracesLeft(launcher), []);
  });
