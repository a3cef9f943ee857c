import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Slot } from "../../../src/sandbox/slot.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, programsOf, tracesLeft } from "../../support/launcher/machine.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { connected, run, step, stepFrame } from "../launcher/raw.ts";

const LIMIT = { timeout: 120_000 };

test("the client abandons a hanging slot, the launcher kills it, and a new slot gets its number", LIMIT, async () => {
  const launcher = await startLauncher({ slots: 1 });
  const slot = await Slot.open(launcher.socket);
  const [stopped] = childrenOf(launcher.pid);
  const report = slot.run(shell("sleep 600"));
  report.catch(() => {});
  while (programsOf(launcher).length === 0) await sleep(10);
  process.kill(stopped ?? assert.fail(), "SIGSTOP");
  slot.close();
  await assert.rejects(report, { name: "SandboxError" });
  const raw = await connected(launcher.socket);
  assert.match(launcher.stderr(), /\nassay-launcher: slot 0 did not end with its client; killed\n$/);
  assert.equal((await run(raw, step(["/bin/true"]))).ended.optionalInt("EXIT_CODE"), 0);
  raw.close();
  assert.equal(await launcher.stop(), 0);
  assert.deepEqual(await tracesLeft(launcher), []);
});

test("a hanging launcher does not delay open slots, and continues when it is resumed", LIMIT, async () => {
  const launcher = await startLauncher({ slots: 2 });
  const slot = await Slot.open(launcher.socket);
  process.kill(launcher.pid, "SIGSTOP");
  const late = Slot.open(launcher.socket);
  assert.equal((await slot.run(shell("true"))).exitCode, 0);
  process.kill(launcher.pid, "SIGCONT");
  assert.equal((await (await late).run(shell("true"))).exitCode, 0);
  slot.close();
  (await late).close();
  assert.equal(await launcher.stop(), 0);
});

for (const [what, end] of [
  ["closes", (raw: { close(): void }) => raw.close()],
  ["sends nothing more", () => {}],
] as const) {
  test(`a client that sends half a step and ${what} loses its slot to the next client`, LIMIT, async (t) => {
    const launcher = await startLauncher({ slots: 1 });
    t.after(() => launcher.stop());
    const torn = await connected(launcher.socket);
    const frame = stepFrame(step(["/bin/true"]));
    torn.send(frame.subarray(0, frame.length / 2));
    end(torn);
    const next = await connected(launcher.socket);
    assert.equal((await run(next, step(["/bin/true"]))).ended.optionalInt("EXIT_CODE"), 0);
    next.close();
  });
}

test("if the launcher is killed during a frame, the slot is lost and no partial report is made", LIMIT, async (t) => {
  const launcher = await startLauncher({ slots: 1 });
  const slot = await Slot.open(launcher.socket);
  const report = slot.run(shell("while :; do echo yes yes yes yes; done"));
  report.catch(() => {});
  while (programsOf(launcher).length === 0) await sleep(10);
  await launcher.kill();
  await assert.rejects(report, { name: "SandboxError" });
  const successor = await startLauncher({ slots: 1, after: launcher });
  t.after(() => successor.stop());
  const next = await Slot.open(successor.socket);
  assert.equal((await next.run(shell("true"))).exitCode, 0);
  next.close();
});

const product = useProduct({ workers: 1 });

/** Uses a process of the same user: root without capabilities may not change another user's limits. */
function limitDescriptors(pid: number, most: number): void {
  const { uid, gid } = statSync(`/proc/${pid}`);
  const same = ["--reuid", String(uid), "--regid", String(gid), "--clear-groups"];
  execFileSync("setpriv", [...same, "prlimit", "--pid", String(pid), `--nofile=${most}:`]);
}

const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

for (const part of ["service", "launcher"] as const) {
  test(
    `a ${part} without free descriptors rejects connections, does not spin, and recovers when there are some`,
    LIMIT,
    async () => {
      const { launcher, service, run: submit } = product();
      const pid = part === "service" ? (service.process.pid ?? 0) : launcher.pid;
      limitDescriptors(pid, descriptors(pid) + (part === "service" ? 10 : 0));
      const idle: Socket[] = Array.from({ length: 40 }, () =>
        part === "service" ? connect(service.port, "127.0.0.1") : connect(launcher.socket),
      );
      for (const socket of idle) socket.on("error", () => {});
      await sleep(500);
      const cpu = () => Number(execFileSync("ps", ["-o", "cputimes=", "-p", String(pid)], { encoding: "utf8" }));
      const before = cpu();
      await sleep(2_000);
      assert.ok(cpu() - before <= 1, "the process spins");
      for (const socket of idle) socket.destroy();
      limitDescriptors(pid, 1024);
      const { result } = checked(await submit("python", "print(1)"));
      assert.equal(result.verdict, "AC");
      while ((await product().ask("GET", "/api/health/ready")).status !== 200) await sleep(100);
    },
  );
}
