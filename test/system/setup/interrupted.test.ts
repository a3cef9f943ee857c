import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { allGroups } from "../../support/launcher/machine.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { type Command, FakeCheckout } from "./fake-checkout.ts";
import { commandLine, processesBelow } from "./processes.ts";

// An interrupted command removes what it has made on the machine. The next command of the data directory does so for a killed command.

/** Each command that starts something, with arguments for the stand-in below. */
const COMMANDS: readonly (readonly string[])[] = [
  ["run", "a.py"],
  ["judge", "a.py"],
  ["problems", "verify", "p"],
  ["problems", "import", "p"],
  ["doctor"],
  ["bench"],
  ["keys", "list"],
  ["serve"],
  ["worker", "--database", "postgres://localhost/none"],
];
/** The commands that a plain run interrupts: one that runs a program, those that need a whole worker, and the service. */
const TESTED = SKIPS_LONG ? COMMANDS.filter(([name = ""]) => ["run", "problems", "serve"].includes(name)) : COMMANDS;

/** Runs until a signal. As the service's user, which root does not trust, it has started a process in a session of its own. */
const PROGRAM = `
const { spawn } = await import("node:child_process");
if (!process.argv.includes("--probe")) {
  if (process.getuid() !== 0) spawn("sleep", ["300"], { argv0: process.env.ASSAY_DATA + "/survivor", detached: true, stdio: "ignore" }).unref();
  setInterval(() => {}, 1_000);
  console.log("started");
}
`;

/** The moments of a signal: each resolves when it has come. */
const MOMENTS: Readonly<Record<string, (fake: FakeCheckout, command: Command) => Promise<unknown>>> = {
  "when its instance is opened": (fake) => until(() => instancesOf(fake).length > 0),
  "when its program starts": (fake) => until(() => instancesOf(fake).length > 0 && nodesOf(fake).length > 0),
  "when its program runs": (_, command) => command.says(/started/),
};

const instancesOf = (fake: FakeCheckout) => (existsSync(join(fake.data, "run")) ? fake.list("run") : []);

const nodesOf = (fake: FakeCheckout) => processesBelow(fake.data).filter((pid) => commandLine(pid).includes("main.ts"));

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !condition() && Date.now() < end; ) await sleep(1);
}

/** Control groups in every hierarchy of the instances with these names. */
function groupsOf(names: ReadonlySet<string>): string[] {
  const pattern = new RegExp(`/assay-(${[...names].join("|") || "none"})(-service.*|-bench)?$`);
  return allGroups().filter((path) => pattern.test(path));
}

/** Everything that a command left on the machine. @param names of its instances. */
function leftBy(fake: FakeCheckout, names: ReadonlySet<string>): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(` ${fake.data}/`));
  const processes = processesBelow(fake.data).map((pid) => `process ${pid}`);
  const drafts = readdirSync(fake.data, { recursive: true, encoding: "utf8" }).filter((path) => path.includes(".tmp."));
  return [...instancesOf(fake), ...groupsOf(names), ...mounts, ...processes, ...drafts];
}

for (const signal of SKIPS_LONG ? (["SIGKILL"] as const) : (["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const))
  test(`a command that ends by ${signal} leaves nothing behind, or nothing after the next command`, {
    timeout: 300_000,
  }, async () => {
    using fake = new FakeCheckout();
    assert.equal((await fake.run("run", "a.py")).code, 7); // sets up
    const serve = fake.start("serve");
    await serve.says(/welcome#fake/);
    serve.child.kill("SIGTERM");
    assert.equal((await serve.end()).code, 0);
    for (const entry of ["src/main.ts", "bench/main.ts"]) fake.write(entry, PROGRAM);
    // Without a terminal, SIGHUP only lets a service read its certificate again.
    for (const args of TESTED.filter(([name]) => name !== "serve" || signal !== "SIGHUP"))
      for (const [name, moment] of Object.entries(MOMENTS)) {
        const names = new Set<string>();
        const look = () => {
          for (const one of instancesOf(fake)) names.add(one.replace(/\.tmp\..*/, ""));
        };
        const watch = setInterval(look, 2);
        const command = fake.start(...args);
        await moment(fake, command);
        look();
        // All processes of the group get the signal, as from a terminal or timeout(1).
        process.kill(-(command.child.pid ?? assert.fail()), signal);
        const ended = await endOf(command, signal, fake);
        clearInterval(watch);
        const what = `${args.join(" ")} ${name}: ${ended.stderr}`;
        if (signal !== "SIGKILL") assert.notEqual(ended.code, null, what);
        assert.ok(names.size > 0, what);
        assert.deepEqual(leftBy(fake, names), [], what);
      }
  });

/** A test that runs until a signal, with a process of its own, and what a command leaves that it started and that was killed with it. */
const LONG_TEST = `
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
test("long", async () => {
  spawn("sleep", ["300"], { argv0: process.env.ASSAY_TEST_DATA + "/survivor", stdio: "ignore" });
  const nested = "worker-" + process.env.ASSAY_TEST_INSTANCE;
  mkdirSync(process.env.ASSAY_TEST_DATA + "/setup-x/data/run/" + nested, { recursive: true });
  const groups = readFileSync("/proc/self/cgroup", "utf8");
  const pids = /^\\d+:pids:(.*)$/m.exec(groups)?.[1];
  const own = pids === undefined ? "/sys/fs/cgroup" + /^0::(.*)$/m.exec(groups)[1] : "/sys/fs/cgroup/pids" + pids;
  mkdirSync(own + "/assay-" + nested + "-service");
  writeFileSync(process.env.ASSAY_TEST_DATA + "/started", "");
  await new Promise((resolve) => setInterval(() => {}, 1_000));
});
`;

for (const signal of SKIPS_LONG ? (["SIGKILL"] as const) : (["SIGTERM", "SIGINT", "SIGKILL"] as const))
  test(`assay test that ends by ${signal} leaves nothing behind, or nothing after the next command`, {
    timeout: 300_000,
  }, async () => {
    using fake = new FakeCheckout();
    fake.write("test/check.ts", "");
    fake.write("test/long.test.ts", LONG_TEST);
    assert.equal((await fake.run("run", "a.py")).code, 7); // sets up
    const started = (one: string) => existsSync(join(fake.data, "run", one, "data/started"));
    for (const [name, moment] of [
      ["when its instance is opened", () => instancesOf(fake).length > 0],
      ["when a test runs", () => instancesOf(fake).some(started)],
    ] as const) {
      const command = fake.start("test", "long");
      await until(moment);
      const names = new Set(instancesOf(fake).map((one) => one.replace(/\.tmp\..*/, "")));
      for (const one of [...names]) names.add(`worker-${one}`);
      process.kill(-(command.child.pid ?? assert.fail()), signal);
      const ended = await endOf(command, signal, fake);
      const what = `${name}: ${ended.stdout}${ended.stderr}`;
      if (signal !== "SIGKILL") assert.notEqual(ended.code, null, what);
      assert.ok(names.size > 0, what);
      assert.deepEqual(leftBy(fake, names), [], what);
    }
  });

/** Waits for a command. After SIGKILL, a process of it can hold its output until the next command has ended that process. */
async function endOf(command: Command, signal: NodeJS.Signals, fake: FakeCheckout) {
  const ending = command.end();
  if (signal === "SIGKILL") {
    await until(() => command.child.signalCode !== null);
    await removeByNext(fake);
  }
  return await ending;
}

/** The next command, which ends at once. The supervisor of a killed command first ends the processes of that command. */
async function removeByNext(fake: FakeCheckout): Promise<void> {
  await until(() => !processesBelow(fake.data).some((pid) => commandLine(pid).includes("/assay-supervisor\0")));
  const { code, stderr } = await fake.run("problems", "import", "--probe");
  assert.notEqual(code, null, stderr);
}
