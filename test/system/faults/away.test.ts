import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../support/launcher/machine.ts";
import { sendText, type TextAnswer } from "../../support/programs/product.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { postgresLedger, sqliteLedger } from "./ledger.ts";
import { type Installation, installation, type RealServe } from "./real-serve.ts";

/**
 * A running service that loses its database for a while: the server stops, the disk is full, or the disk is read-only.
 */
const LIMIT = { timeout: 180_000 };
const DISK_BYTES = 8 << 20;
const LARGE_BYTES = 1 << 20;

interface Client {
  readonly submit: (n: number, code: string, wait?: boolean, files?: Record<string, string>) => Promise<TextAnswer>;
  readonly result: (id: string) => Promise<TextAnswer>;
  /** The final record as text. Repeats requests that are answered with 503. */
  readonly end: (id: string) => Promise<string>;
}

async function client(t: TestContext, { port, command, isReady }: RealServe): Promise<Client> {
  const key = command("keys", "create", "--name", "k", "--rpm", "1000000", "--concurrency", "10");
  while (!(await isReady(key))) await sleep(100);
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  t.after(() => agent.destroy());
  const result: Client["result"] = (id) => sendText(agent, port, key, "GET", `/api/result/${id}`);
  return {
    result,
    submit: (n, code, wait = false, files = {}) => {
      const headers = { "idempotency-key": `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` };
      return sendText(
        agent,
        port,
        key,
        "POST",
        `/api/submit${wait ? "?wait=true" : ""}`,
        { language: "python", code, files },
        headers,
      );
    },
    end: async (id) => {
      for (;;) {
        const answer = await result(id);
        if (answer.status === 503) away(answer);
        else if (/"status":"(completed|error)"/.test(answer.text)) return answer.text;
        await sleep(100);
      }
    },
  };
}

const idOf = ({ text }: TextAnswer) => (JSON.parse(text) as { id: string }).id;

function away({ status, headers, text }: TextAnswer): void {
  const seen = [status, headers["retry-after"], JSON.parse(text).error];
  assert.deepEqual(seen, [503, "2", "the database does not respond, try again later"]);
}

/** Sends requests while the database is unavailable and checks their results afterwards. */
async function throughAnAbsence(
  t: TestContext,
  service: RealServe,
  client: Client,
  [leave, comeBack]: [leave: () => Promise<void>, comeBack: () => Promise<void>],
  mayAccept = false,
): Promise<string[]> {
  const pid = service.service();
  const before = idOf(await client.submit(1, "print('before')"));
  const ended = await client.end(before);
  // One run ends during the outage, and one waits in the queue. A client waits for each.
  const during = client.submit(2, "import time; time.sleep(2); print('during')", true);
  await sleep(100);
  const behind = client.submit(3, "import time; time.sleep(2); print('behind')", true);
  await sleep(1_000);
  await leave();
  // SQLite's files may have free space on a full disk: submissions accepted there must be kept as well.
  const accepted = new Set<string>();
  let refusals = 0;
  const look = (answer: TextAnswer) => {
    if (mayAccept && answer.status === 202) accepted.add(idOf(answer));
    else away(answer);
    refusals += answer.status === 503 ? 1 : 0;
  };
  for (let round = 0; round < 3; round++) {
    look(await client.submit(4, "print('refused')"));
    await sleep(500);
  }
  // Together these submissions are larger than the whole disk.
  for (let n = 100; refusals === 0 && n < 100 + DISK_BYTES / LARGE_BYTES; n++)
    look(await client.submit(n, "print('large')", false, { large: "x".repeat(LARGE_BYTES) }));
  assert.ok(refusals > 0, "nothing was refused");
  await comeBack();
  const back = performance.now();
  const waited = await Promise.all([during, behind]);
  assert.deepEqual(
    waited.map(({ status, text }) => [status, JSON.parse(text).status, JSON.parse(text).output?.stdout ?? text]),
    [
      [200, "completed", "during\n"],
      [200, "completed", "behind\n"],
    ],
  );
  const refused = await client.submit(4, "print('refused')", true);
  assert.equal(refused.status, accepted.has(idOf(refused)) ? 202 : 200);
  assert.equal(JSON.parse(refused.text).output.stdout, "refused\n");
  for (const id of accepted) await client.end(id);
  t.diagnostic(`recovered ${(performance.now() - back).toFixed(0)} ms after the database was back`);
  assert.equal(await client.end(before), ended);
  assert.equal(service.service(), pid, "without a restart");
  return [...new Set([before, ...waited.map(idOf), idOf(refused), ...accepted])];
}

/** Each submission exists once, ran once and is complete. There are no others. */
const WHOLE = `select submissions.id, attempts, (code is not null) as has_program, (body is not null) as has_outcome
  from submissions left join programs on programs.submission_seq = seq left join outcomes on outcomes.submission_seq = seq
  order by submissions.id`;
const whole = (ids: readonly string[]) => ids.toSorted().map((id) => [id, 1, true, true]);
const asRow = (row: object) => Object.values(row).map((value, at) => (at > 1 ? Boolean(value) : value));

/** Puts the database of an installation on a small file system. */
function smallDisk({ data, after }: Installation) {
  const directory = join(data, "db");
  mkdirSync(directory, { mode: 0o700 });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "assay-test", directory]);
  after(() => execFileSync("umount", [directory]));
  const filler = join(directory, "filler");
  return {
    fill: () => assert.throws(() => writeFileSync(filler, Buffer.alloc(DISK_BYTES)), { code: "ENOSPC" }),
    freeSpace: () => rmSync(filler),
    remount: (how: "ro" | "rw") => execFileSync("mount", ["-o", `remount,${how}`, directory], { stdio: "pipe" }),
  };
}

function remounts({ remount }: ReturnType<typeof smallDisk>): boolean {
  try {
    remount("ro");
    return true;
  } catch {
    return false;
  }
}

describe("an unavailable database", { concurrency: 2 }, () => {
  test(
    "a running service reports that PostgreSQL is unavailable, and resumes all work when it is back",
    LIMIT,
    async (t) => {
      const server = await PostgresServer.start();
      t.after(() => server.stop());
      const url = server.url(await server.createDatabase());
      const service = await installation(t, { ASSAY_DATABASE: url }).serve("--workers", "1");
      const ids = await throughAnAbsence(t, service, await client(t, service), [
        () => server.kill(),
        () => server.start(),
      ]);
      const ledger = postgresLedger(url);
      t.after(() => ledger.close());
      assert.deepEqual((await ledger.rows<object>(WHOLE)).map(asRow), whole(ids));
      service.process.kill("SIGTERM");
      assert.equal(await service.ended, 0, service.words());
    },
  );

  test("a full disk, and then a read-only disk, lose no accepted submission", LIMIT, async (t) => {
    const home = installation(t);
    const disk = smallDisk(home);
    const service = await home.serve("--workers", "1");
    const asking = await client(t, service);
    const ids = await throughAnAbsence(
      t,
      service,
      asking,
      [async () => disk.fill(), async () => disk.freeSpace()],
      true,
    );
    const ledger = sqliteLedger(join(home.data, "db/assay.sqlite"));
    assert.deepEqual((await ledger.rows<object>(WHOLE)).map(asRow), whole(ids));
    assert.deepEqual(await ledger.rows("pragma integrity_check"), [{ integrity_check: "ok" }]);

    // The kernel refuses to make a file system read-only while a file is open for writing, so the service must be
    // restarted.
    assert.throws(() => disk.remount("ro"), /busy/);
    const last = idOf(await asking.submit(6, "print('last')"));
    const ended = await asking.end(last);
    process.kill(service.service() ?? 0, "SIGKILL");
    await eventually("the kernel closes its files", () => remounts(disk));
    while (!/cannot use the database .*: EROFS: read-only file system/.test(service.words())) await sleep(50);
    await assert.rejects(asking.result(last), { code: "ECONNREFUSED" });
    disk.remount("rw");
    const answer = async () => {
      for (;;) {
        const text = await asking.end(last).catch(() => undefined);
        if (text !== undefined) return text;
        await sleep(100);
      }
    };
    assert.equal(await answer(), ended);
    service.process.kill("SIGTERM");
    assert.equal(await service.ended, 0, service.words());
  });
});
