import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cpuOf } from "../load/processes.ts";
import { quantile } from "../row.ts";
import type { Bench, SandboxRow } from "../sandboxes.ts";
import { admittedSandboxes, unmeasured } from "../sandboxes.ts";
import { timed } from "../service.ts";
import { Agent } from "./agent.ts";
import { Counts, growth } from "./counts.ts";
import { networks } from "./network.ts";
import { goJudgeTimes, podmanTimes } from "./peer.ts";

type Measure = (bench: Bench) => Promise<SandboxRow[]>;

const MIB = 1_048_576;
const TRUE = { argv: ["true"] };
/** How many clients measure throughput. */
const CLIENTS = 8;
/** Memory of an idle sandbox: its processes and its kernel objects, with a reserve. */
const IDLE_BYTES = 3 * MIB;
const MOST_IDLE = 2_000;

/** The rows of `assay bench sandboxes`, in their order. Each function measures one or more, and leaves nothing but sandboxes. */
export const ROWS: Readonly<Record<string, Measure>> = {
  create: creation,
  execute: execution,
  executions_per_second: throughput,
  go_judge: goJudge,
  podman,
  keystroke: keystrokes,
  first_byte: firstBytes,
  file_1_kib: smallFiles,
  stream: streams,
  pause: pauses,
  snapshot: snapshots,
  idle,
  hundred: manyAtOnce,
  network: networks,
  leaks,
};

type Unit = SandboxRow["unit"];

/** A row of times, or of other values, with the most that its median and its 99th percentile should be. */
function spread(
  name: string,
  values: readonly number[],
  [most, mostP99]: readonly [number, number],
  more: Partial<Pick<SandboxRow, "floor" | "note" | "unit">> = {},
): SandboxRow {
  const [value, p99] = [quantile(values, 0.5), quantile(values, 0.99)];
  const { unit = "ms", floor = null, note = null } = more;
  const reached = value <= most && p99 <= mostP99;
  return { name, unit, value, p99, target: `${most} / ${mostP99} ${unit}`, reached, floor, note };
}

/** A row with one value. @param isReached by this value. */
function single(
  name: string,
  unit: Unit,
  value: number,
  target: string,
  isReached: boolean,
  note: string | null = null,
  floor: SandboxRow["floor"] = null,
): SandboxRow {
  return { name, unit, value, p99: null, target, reached: isReached, floor, note };
}

async function repeated(amount: number, work: (at: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < amount; at++) times.push(await timed(() => work(at)));
  return times;
}

async function creation({ agent, times }: Bench): Promise<SandboxRow[]> {
  const cold: number[] = [];
  for (let at = 0; at < times(20, 3); at++) {
    await agent.endAll();
    await sleep(1_000);
    agent.close(); // the next request has a new connection, with its handshake
    cold.push(await timed(() => agent.create()));
  }
  await repeated(times(50, 3), async () => agent.end(await agent.create()));
  const warm: number[] = [];
  const end: number[] = [];
  for (let at = 0; at < times(500, 10); at++) {
    let made = "";
    warm.push(
      await timed(async () => {
        made = await agent.create();
      }),
    );
    end.push(await timed(() => agent.end(made)));
  }
  return [
    spread("create_warm", warm, [5, 15]),
    spread("create_cold", cold, [25, 25], { note: "a second after the last one, on a new connection" }),
    { ...spread("end", end, [0, 0]), target: "–", reached: null },
  ];
}

async function execution({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandbox = await agent.create();
  const echo = { argv: ["bash", "-c", "echo hello"] };
  const amount = times(2_000, 20);
  await repeated(times(500, 10), () => agent.execute(sandbox, TRUE));
  const bare = await repeated(times(300, 10), async () => {
    const child = spawn("true", { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.resume();
    child.stderr.resume();
    await once(child, "close");
  });
  const floor = { name: "spawn of `true` in Node", value: quantile(bare, 0.5), p99: quantile(bare, 0.99) };
  const ours = await repeated(amount, () => agent.execute(sandbox, TRUE));
  const bash = await repeated(amount, () => agent.execute(sandbox, echo));
  return [spread("execute_true", ours, [3, 8], { floor }), spread("execute_bash_echo", bash, [3, 8], { floor })];
}

async function throughput({ agent, times, servicePid, launcherPid }: Bench): Promise<SandboxRow[]> {
  const sandboxes = await agent.createMany(CLIENTS);
  const run = async (each: number) => {
    const all = sandboxes.map((sandbox) => repeated(each, () => agent.execute(sandbox, TRUE)));
    return (await Promise.all(all)).flat();
  };
  await run(times(100, 3));
  const used = () => [servicePid, launcherPid].map((pid) => cpuOf([pid]));
  const before = used();
  let latencies: number[] = [];
  const ms = await timed(async () => {
    latencies = await run(times(1_000, 20));
  });
  const [service, launcher] = used().map((after, at) => {
    const { ownMs = 0, endedMs = 0 } = before[at] ?? {};
    return Math.round((1_000 * (after.ownMs + after.endedMs - ownMs - endedMs)) / latencies.length);
  });
  const rate = (1_000 * latencies.length) / ms;
  const note = `CPU time of each: service ${service} us, launcher and boxes ${launcher} us; p99 ${Math.round(quantile(latencies, 0.99))} ms`;
  return [single("executions_per_second", "1/s", rate, "at least 500", rate >= 500, note)];
}

/** A row of another program, which has no target. */
function ofPeer(name: string, values: readonly number[], note: string, floor: SandboxRow["floor"] = null): SandboxRow {
  return { ...spread(name, values, [0, 0], { note, floor }), target: "–", reached: null };
}

async function goJudge(bench: Bench): Promise<SandboxRow[]> {
  const measured = await goJudgeTimes(bench, CLIENTS);
  if ("note" in measured) return [unmeasured("go_judge_true", measured.note)];
  const note = "without TLS, storage and state";
  const { executeTrue, executeBashEcho, rate } = measured;
  return [
    ofPeer("go_judge_true", executeTrue, note),
    ofPeer("go_judge_bash_echo", executeBashEcho, note),
    {
      ...single("go_judge_executions_per_second", "1/s", rate, "–", false, `${note}; ${CLIENTS} clients`),
      reached: null,
    },
  ];
}

async function podman(bench: Bench): Promise<SandboxRow[]> {
  const measured = await podmanTimes(bench);
  if ("note" in measured) return [unmeasured("podman_create", measured.note)];
  const { version, create, runTrue, executeTrue, executeBashEcho, file1Kib } = measured;
  const floor = { name: "`podman --version`", value: quantile(version, 0.5), p99: quantile(version, 0.99) };
  const note = "as root, without an API and records";
  return [
    ofPeer("podman_create", create, note, floor),
    ofPeer("podman_run_true", runTrue, "a container until it is removed", floor),
    ofPeer("podman_execute_true", executeTrue, note, floor),
    ofPeer("podman_execute_bash_echo", executeBashEcho, note, floor),
    ofPeer("podman_file_1_kib", file1Kib, "a write and a read, each by a program of the container", floor),
  ];
}

async function keystrokes({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandbox = await agent.create();
  const path = await agent.start(sandbox, {
    argv: ["bash", "-c", "stty raw -echo; echo ready; exec cat"],
    terminal: { rows: 24, cols: 80 },
  });
  let heard: (text: string) => void = () => {};
  let text = "";
  const until = (wanted: string) =>
    new Promise<void>((resolve) => {
      heard = (all) => all.endsWith(wanted) && resolve();
      heard(text);
    });
  const socket = await agent.attach(path, (bytes) => {
    text += bytes;
    heard(text);
  });
  await until("ready\n");
  const type = (at: number) => {
    text = "";
    const key = Buffer.from([97 + (at % 26)]);
    const echoed = until(key.toString());
    socket.send(key);
    return echoed;
  };
  await repeated(times(200, 5), type);
  const echoes: number[] = [];
  for (let at = 0; at < times(2_000, 20); at++) {
    await sleep(10); // nobody types faster
    echoes.push(await timed(() => type(at)));
  }
  socket.terminate();
  return [spread("keystroke", echoes, [0.5, 3])];
}

async function firstBytes({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandbox = await agent.create();
  const amount = times(500, 10);
  const code = `import os, time\nos.write(1, b"begin\\n")\ntime.sleep(1)\nfor _ in range(${amount}):\n    time.sleep(0.04)\n    os.write(1, b"%d\\n" % time.time_ns())\n`;
  const path = await agent.start(sandbox, { argv: ["python3", "-c", code], background: true });
  const late: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = await agent.attach(path, (bytes) => {
    const now = performance.timeOrigin + performance.now();
    for (const line of bytes.toString().trim().split("\n")) if (/^\d+$/.test(line)) late.push(now - Number(line) / 1e6);
    if (late.length >= amount) resolve();
  });
  socket.once("close", () => resolve());
  await promise;
  socket.terminate();
  return [spread("first_byte", late, [1, 4], { note: "from write() in the sandbox to the client, over a WebSocket" })];
}

async function smallFiles({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandbox = await agent.create();
  const bytes = Buffer.alloc(1_024, 7);
  const one = async (at: number) => {
    const path = `${sandbox}/files?path=f${at % 50}`;
    await agent.ask("PUT", path, 200, bytes);
    await agent.ask("GET", path, 200);
  };
  await repeated(times(200, 5), one);
  return [spread("file_1_kib", await repeated(times(1_000, 20), one), [2, 6], { note: "a write and a read" })];
}

async function streams({ agent, times, servicePid, launcherPid, directory }: Bench): Promise<SandboxRow[]> {
  const bytes = times(1_024, 64) * MIB;
  const limits = { memory_bytes: 2_048 * MIB, disk_bytes: 1_536 * MIB };
  const path = `${await agent.create({ limits })}/files?path=big`;
  const rows: SandboxRow[] = [];
  const floors = await bareStreams(directory, agent.at, bytes);
  const cpu = () => [servicePid, launcherPid].map((pid) => cpuOf([pid]).ownMs);
  for (const [name, floor, work] of [
    ["stream_up", floors.up, () => agent.upload(path, bytes)],
    ["stream_down", floors.down, () => agent.download(path)],
  ] as const) {
    const cpuBefore = cpu();
    const before = Counts.residentBytes(servicePid);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, Counts.residentBytes(servicePid));
    }, 20);
    const ms = await timed(work);
    clearInterval(watch);
    const [service, launcher] = cpu().map((after, at) =>
      (((after - (cpuBefore[at] ?? 0)) / 1_000) * (1_024 / (bytes / MIB))).toFixed(2),
    );
    const rate = megabytesPerSecond(bytes, ms);
    const note =
      `${bytes / MIB} MiB; the memory of the service grew by ${Math.round((peak - before) / MIB)} MiB; ` +
      `CPU time for each GiB: service ${service} s, launcher and file program ${launcher} s`;
    rows.push(single(name, "MB/s", rate, "at least 400", rate >= 400, note, floor));
  }
  return rows;
}

const megabytesPerSecond = (bytes: number, ms: number) => bytes / 1e6 / (ms / 1_000);

/** The same bytes between the same client and a process with Node's `https` server that drops and makes them. */
async function bareStreams(
  directory: string,
  { ca }: Bench["agent"]["at"],
  bytes: number,
): Promise<Record<"up" | "down", NonNullable<SandboxRow["floor"]>>> {
  const child = fork(fileURLToPath(new URL("./bytes-server.ts", import.meta.url)), [directory]);
  try {
    const [port] = (await once(child, "message")) as [number];
    const bare = new Agent({ port, ca, key: "none" });
    const floor = async (work: () => Promise<unknown>) => {
      const value = megabytesPerSecond(bytes, await timed(work));
      return { name: "https of Node without a service", value, p99: null };
    };
    return {
      up: await floor(() => bare.upload("/", bytes)),
      down: await floor(() => bare.download(`/${bytes}`)),
    };
  } finally {
    child.kill();
  }
}

async function pauses({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandbox = await agent.create();
  await agent.ask("POST", `${sandbox}/executions`, 201, { argv: ["sleep", "1000"], background: true });
  const [paused, resumed]: [number[], number[]] = [[], []];
  for (let at = 0; at < times(300, 5); at++) {
    paused.push(await timed(() => agent.ask("POST", `${sandbox}/pause`, 200)));
    resumed.push(await timed(() => agent.ask("POST", `${sandbox}/resume`, 200)));
  }
  const note = "with a process, and stored";
  return [spread("pause", paused, [1, 1], { note }), spread("resume", resumed, [1, 1], { note })];
}

/** Snapshots of 1,000 files with 50 MB together, and sandboxes that begin with one. */
async function snapshots({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandbox = await agent.create(WITH_FILES);
  const shell = "mkdir d && for i in $(seq 1000); do head -c 50000 /dev/urandom > d/$i; done";
  await agent.ask("POST", `${sandbox}/executions`, 200, { shell });
  const [taken, forked]: [number[], number[]] = [[], []];
  for (let at = 0; at < times(20, 3); at++) {
    let snapshot = "";
    taken.push(
      await timed(async () => {
        snapshot = await agent.ask("POST", `${sandbox}/snapshots`, 201, {});
      }),
    );
    const { id: from } = JSON.parse(snapshot) as { id: string };
    let fork = "";
    forked.push(
      await timed(async () => {
        fork = await agent.create({ ...WITH_FILES, from });
      }),
    );
    await agent.end(fork);
    await agent.ask("DELETE", `/api/snapshots/${from}`, 200);
  }
  const note = "1,000 files, 50 MB";
  return [spread("snapshot", taken, [250, 250], { note }), spread("fork", forked, [10, 10], { note })];
}
const WITH_FILES = { limits: { memory_bytes: 512 << 20, disk_bytes: 128 << 20 } };

/** The latency of a hello world of another account. */
async function hellos({ other, times }: Bench): Promise<number[]> {
  return await repeated(times(100, 3), async () => {
    const body = { language: "python", code: `print("hello") # ${Math.random()}`, profile: "judge" };
    const text = await other.ask("POST", "/api/submit?wait=true", 200, body);
    if (!text.includes('"verdict":"AC"')) throw new Error(`the hello failed: ${text.slice(0, 300)}`);
  });
}

async function idle(bench: Bench): Promise<SandboxRow[]> {
  const { agent, times, capacity, tell } = bench;
  const amount =
    bench.idle ?? times(admittedSandboxes(Math.min(MOST_IDLE, Math.floor(capacity.sandboxes / 2)), IDLE_BYTES), 20);
  await hellos(bench); // warms up
  const alone = [...(await hellos(bench))];
  const before = Counts.availableBytes();
  const ms = await timed(() => agent.createMany(amount));
  tell(`${amount} idle sandboxes were created in ${Math.round(ms)} ms`);
  await sleep(times(5_000, 100));
  const each = (before - Counts.availableBytes()) / amount / MIB;
  const beside = [...(await hellos(bench))];
  await agent.endAll();
  await sleep(times(5_000, 100));
  alone.push(...(await hellos(bench)));
  const ratio = quantile(beside, 0.5) / quantile(alone, 0.5);
  const note = `the median of a judge's hello world next to them, ${quantile(beside, 0.5).toFixed(1)} ms, to that alone`;
  return [
    single(
      "idle_sandboxes",
      "count",
      amount,
      `at least ${MOST_IDLE}`,
      amount >= MOST_IDLE,
      `${each.toFixed(2)} MiB each`,
    ),
    single("hello_beside_idle", "ratio", ratio, "at most 1.1", ratio <= 1.1, note),
  ];
}

async function manyAtOnce({ agent, times }: Bench): Promise<SandboxRow[]> {
  const sandboxes = await agent.createMany(times(100, 5));
  const seconds = times(30, 3);
  await Promise.all(sandboxes.map((sandbox) => agent.execute(sandbox, TRUE)));
  const latencies: number[] = [];
  let lost = 0;
  let reason = "";
  const begin = performance.now();
  await Promise.all(
    sandboxes.map(async (sandbox, at) => {
      for (let second = 0; second < seconds; second++) {
        // From the time at which it should begin, so that a late beginning counts.
        const due = begin + 1_000 * (second + at / sandboxes.length);
        await sleep(Math.max(0, due - performance.now()));
        try {
          await agent.execute(sandbox, TRUE);
          latencies.push(performance.now() - due);
        } catch (error) {
          lost++;
          reason = `; ${(error as Error).message}`;
        }
      }
    }),
  );
  const p99 = quantile(latencies, 0.99);
  return [
    {
      ...spread("one_execution_a_second_each", latencies, [100, 100], {
        note: `${sandboxes.length} sandboxes, ${latencies.length} executions, ${lost} lost${reason}`,
      }),
      target: "p99 below 100 ms, none lost",
      reached: p99 < 100 && lost === 0,
    },
  ];
}

async function leaks({ agent, times, launcherPid, servicePid, tell }: Bench): Promise<SandboxRow[]> {
  const leaveFiles = async (each: number) => {
    const sandboxes = await agent.createMany(CLIENTS);
    const body = { argv: ["sh", "-c", "echo $$ > file-$$-$(date +%N)"] };
    await Promise.all(sandboxes.map((sandbox) => repeated(each, () => agent.execute(sandbox, body))));
    await agent.endAll();
  };
  const comeAndGo = async (amount: number) => {
    const each = Math.ceil(amount / CLIENTS);
    await Promise.all(
      Array.from({ length: CLIENTS }, () => repeated(each, async () => agent.end(await agent.create()))),
    );
  };
  const settled = async () => {
    await sleep(times(10_000, 500)); // connections that wait are closed, and cgroups that are dying are freed
    return Counts.read([launcherPid, servicePid]);
  };
  // The first ones fill caches and pools, which stay.
  await leaveFiles(times(250, 3));
  await comeAndGo(times(100, 8));
  const before = await settled();
  await leaveFiles(times(1_250, 5));
  tell("the executions have ended");
  await comeAndGo(times(1_000, 8));
  const after = await settled();
  return growth(before, after).map(({ name, from, to, more, most, unit }) => {
    const words = unit === "%" ? `at most ${most} %` : `at most ${most}`;
    return single(`leak_of_${name}`, unit, more, words, more <= most, `${from} before, ${to} after`);
  });
}
