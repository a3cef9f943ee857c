import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { after, before, test } from "node:test";
import { z } from "zod";
import { assayBench, NOBODY } from "../../support/cli/processes.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { postgresServer } from "../../support/store/temporary.ts";

/** Both tests together take three minutes alone, and up to ten alongside another kernel. */
const LIMIT = { timeout: 800_000 };
/** The launcher's slots, as slots_for in setup/instance.sh gives them. */
const SLOTS = 2 * availableParallelism() + 5;

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: SLOTS, clientUid: NOBODY });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

function bench(...args: string[]) {
  const image = ["--image", environment("ASSAY_TEST_IMAGE"), "--launcher-socket", launcher.socket];
  const unused = ["--launcher", "-", "--instance", "-", "--uid-base", "0"];
  return assayBench(...image, ...unused, "service", "--json", ...args);
}

const positive = z.number().positive();
const counted = z.number().nonnegative();
const spread = z.strictObject({ p50: positive, p95: positive, p99: positive });
const schema = z.strictObject({
  machine: z.strictObject({
    ...{
      at: z.iso.datetime(),
      cores: positive,
      processor: z.string().nullable(),
      kernel: z.string(),
      node: z.string(),
    },
    postgres: z.string().nullable(),
  }),
  bare: z.strictObject({ perSecond: positive, cpuMs: positive }),
  loaded: z.array(
    z.strictObject({
      ...{ engine: z.enum(["sqlite", "postgres"]), sandbox: z.enum(["real", "no-op"]), services: positive },
      ...{ records: counted, keys: positive, mix: z.enum(["wait", "poll", "submit"]), seconds: positive },
      loop: z.union([
        z.strictObject({ clients: positive }),
        z.strictObject({ perSecond: positive, connections: positive }),
      ]),
      ...{ perSecond: positive, fullPerSecond: counted, wrong: z.strictObject({}), lateMs: counted },
      ...{ submitMs: spread.nullable(), endToEndMs: spread.nullable() },
      cpuMs: z.strictObject({
        ...{ service: positive, launcher: counted, boxes: counted, database: positive.nullable(), generator: positive },
      }),
      ...{ walBytes: positive.nullable(), walFlushes: counted.nullable(), transactions: positive.nullable() },
      ...{ serviceWrittenBytes: counted, servicePeakBytes: positive, launcherSharedFairlyBytes: positive },
      bareCpuMs: positive.nullable(),
    }),
  ),
  stored: z.array(
    z.strictObject({ engine: z.enum(["sqlite", "postgres"]), records: positive, bytesPerRecord: positive }),
  ),
  idle: z.array(
    z.strictObject({ ...{ engine: z.string(), records: counted }, serviceShare: counted, launcherShare: counted }),
  ),
  pending: z.array(
    z.strictObject({
      ...{ engine: z.string(), pending: positive, serviceBytes: positive, servicePeakBytes: positive },
      launcherBytesPerSlot: positive,
    }),
  ),
});

type Whole = z.output<typeof schema>;

async function measured(...args: string[]): Promise<Whole> {
  const { code, stdout, stderr } = await bench(...args);
  assert.equal(code, 0, stderr);
  const whole = schema.parse(JSON.parse(stdout));
  for (const one of whole.loaded) {
    const { mix, sandbox, submitMs, endToEndMs, cpuMs, bareCpuMs } = one;
    // A client that waits gets one response; a client that only submits does not see the end.
    assert.equal(submitMs === null, mix === "wait");
    assert.equal(endToEndMs === null, mix === "submit");
    for (const times of [submitMs, endToEndMs]) if (times) assert.ok(times.p50 <= times.p95 && times.p95 <= times.p99);
    assert.equal(cpuMs.boxes > 0, sandbox === "real", "only real boxes have processes that end");
    assert.equal(bareCpuMs !== null, sandbox === "real", "bare runs are the floor of real ones");
  }
  return whole;
}

const LOADS = ["wait", "poll", "submit", "wait", "submit"];

test("SQLite: both sandboxes under each load, with the requested numbers of records", {
  ...LIMIT,
  skip: SKIPS_LONG,
}, async () => {
  const { loaded, stored, idle, pending } = await measured("--seconds", "1", "--records", "300", "--keys", "3");
  assert.deepEqual(
    loaded.map(({ sandbox, mix }) => `${sandbox} ${mix}`),
    ["real", "no-op"].flatMap((sandbox) => LOADS.map((mix) => `${sandbox} ${mix}`)),
  );
  for (const { engine, records, keys, cpuMs } of loaded) {
    assert.deepEqual([engine, records, keys, cpuMs.database], ["sqlite", 300, 3, null]);
  }
  assert.equal(stored.length, 1);
  assert.ok((stored[0]?.bytesPerRecord ?? 0) > 500, "a record has a program, its output and its evidence");
  assert.equal(idle.length, 1);
  const [full] = pending;
  // The memory is that of a service and its queue: more than nothing, and less than that of the machine.
  assert.ok(full && full.pending === 1_000 && full.serviceBytes > 2e7 && full.serviceBytes < 1e9);
});

test("PostgreSQL: includes the server's work, shared by several services", {
  ...LIMIT,
  skip: SKIPS_LONG,
}, async () => {
  const server = await postgresServer();
  const url = server.url("postgres");
  const few = ["--seconds", "1", "--records", "0", "--keys", "3", "--services", "2"];
  const { loaded, stored } = await measured("--database", url, ...few);
  assert.deepEqual(
    loaded.map(({ services }) => services),
    [...LOADS, ...LOADS, "shared"].map((load) => (load === "shared" ? 2 : 1)),
  );
  for (const { cpuMs, walBytes, transactions } of loaded) assert.ok(cpuMs.database && walBytes && transactions);
  assert.deepEqual(stored, []);
  const left = await server.admin("select datname from pg_database where datname like 'assay_bench%'");
  assert.deepEqual(left, [], "its databases are gone");
});

test("rejects non-numeric values", LIMIT, async () => {
  for (const flag of ["--keys", "--records", "--services"]) {
    const { code, stderr } = await bench(flag, "1,x");
    assert.equal(code, 1);
    assert.match(stderr, /must be whole numbers, separated by commas/);
  }
});
