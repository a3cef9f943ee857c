import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { HELD_CONTROLS, SANDBOX_CONTROLS, SANDBOX_OPTIONAL_CONTROLS } from "../../../src/domain/controls.ts";
import type { TeardownReport } from "../../../src/domain/report.ts";
import { newSandbox } from "../../../src/domain/sandboxes/sandbox.ts";
import { toSandboxRecord } from "../../../src/domain/sandboxes/sandbox-record.ts";
import type { ExecutionReport, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { missingControls } from "../../../src/verdict/controls.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, groupsOf, read } from "../../support/launcher/machine.ts";
import { execution, hold } from "../../support/launcher/sandbox.ts";
import { callerOf, sandboxRequest } from "../../support/sandboxes/caller.ts";

/* As test/system/falsify/ does for submissions: each field of the evidence of a sandbox, and of its executions, reports a fault. */

const ENOSPC = 28;
/** Launchers start at the same time: their tests mostly wait for deadlines. */
const AT_ONCE = { concurrency: 2 };

/** Makes a sandbox with a launcher that has this fault, and ends both. */
async function within<Result>(
  fault: string | null,
  work: (box: HeldSandbox, launcher: Launcher) => Promise<Result>,
  { network = null }: { readonly network?: string | null } = {},
): Promise<Result> {
  const egress = mkdtempSync(join(tmpdir(), "egress-")); // without a proxy
  const launcher = await startLauncher({ slots: 1, sandboxes: 1, egress, ...(fault && { fault }) });
  try {
    return await work(await hold(launcher, { network }), launcher);
  } finally {
    assert.equal(await launcher.stop(), 0, launcher.stderr());
    rmdirSync(egress);
  }
}
const NETWORK = "0123456789abcdef0123456789abcdef";

const named = (texts: readonly string[]): string[] => texts.map((text) => text.slice(0, text.indexOf(":"))).toSorted();

/** What the record of a sandbox says about such an end. */
function recorded(teardown: TeardownReport) {
  const key = { keyId: "key", accountId: "account" };
  const sandbox = newSandbox(sandboxRequest(), callerOf(key), "here", 1_000);
  const evidence = { controls: [], controlsMissing: [], teardown };
  return toSandboxRecord({ ...sandbox, state: "ended", endReason: "client", endedAtMs: 2_000, evidence }).evidence
    .teardown;
}

/**
 * For every control, the call of the kernel that creates it is skipped. `also` lists controls that depend on it. `onlyBox`: an execution does not read
 * the control. A sandbox that cannot be made without it is refused with this text.
 */
interface Loss {
  readonly missing: string;
  readonly also?: readonly string[];
  readonly onlyBox?: true;
}
const LOST: Readonly<Record<string, Loss>> = {
  pid_namespace: { missing: "is the launcher's own" },
  mount_namespace: { missing: "is the launcher's own", also: ["own_image", "own_upper", "restricted_proc"] },
  network_namespace: { missing: "is the launcher's own", also: ["loopback_only"] },
  ipc_namespace: { missing: "is the launcher's own" },
  uts_namespace: { missing: "is the launcher's own" },
  cgroup_namespace: { missing: "is the launcher's own" },
  unprivileged_user: { missing: "identity is another" },
  no_capabilities: { missing: "some are left" },
  no_new_privileges: { missing: "is not set" },
  seccomp_filter: { missing: "is not set" },
  cgroup_membership: { missing: "is not in every group of its run" },
  own_upper: { missing: "the image can be written, or allows set-uid or devices" },
  restricted_proc: { missing: "/proc shows or allows more than it should" },
  memory_limit: { missing: "reads back differently" },
  process_limit: { missing: "reads back differently" },
  loopback_only: { missing: "there is another interface, or a route" },
  socket_limit: { missing: "cannot be read back", onlyBox: true },
  lock_limit: { missing: "cannot be read back", onlyBox: true },
};
/** Without these, no sandbox can be made. */
interface Refusal {
  readonly fault: string;
  readonly why: RegExp;
  readonly network?: string;
}
const REFUSED: Readonly<Record<string, readonly Refusal[]>> = {
  own_image: [{ fault: "own_image", why: /root of the sandbox/ }],
  restricted_proc: [{ fault: "uncovered_proc", why: /\/proc of the sandbox shows something of the machine/ }],
  no_route_out: [
    { fault: "no_route_out", why: /there is a route out/, network: NETWORK },
    { fault: "no_lookup", why: /the lookup of sockets is not attached/, network: NETWORK },
    { fault: "no_relay", why: /the relay did not become ready/, network: NETWORK },
  ],
};

let sound: { readonly controls: readonly string[]; readonly report: ExecutionReport; readonly torn: TeardownReport };
before(async () => {
  sound = await within(null, async (box) => {
    const report = await (await box.attach()).run(execution("true"));
    return { controls: [...box.controls, ...box.controlsMissing], report, torn: await box.end() };
  });
});

test("without a fault, every control is confirmed, and the end is verified", () => {
  const optional = SANDBOX_OPTIONAL_CONTROLS.filter((name) => sound.controls.includes(name));
  assert.deepEqual(sound.controls.toSorted(), [...HELD_CONTROLS, ...optional].toSorted());
  assert.deepEqual(missingControls(sound.report), []);
  assert.equal(buildOutcome({ execute: sound.report }).result.verdict, "AC");
  assert.equal(recorded(sound.torn).cleanup_verified, true);
});

test("without a fault, no_route_out is confirmed for a sandbox with a network, and for no other", async (t) => {
  if (!sound.controls.includes("socket_limit")) return t.skip("this machine does without a network");
  assert.ok(!sound.controls.includes("no_route_out"));
  await within(
    null,
    async (box) => {
      assert.ok(box.controls.includes("no_route_out"));
      assert.deepEqual(box.controlsMissing, []);
    },
    { network: NETWORK },
  );
});

test("each control of a sandbox is tried", () => {
  const tried = new Set([...Object.keys(LOST), ...Object.keys(REFUSED), "resource_limits"]);
  assert.deepEqual([...tried].toSorted(), [...SANDBOX_CONTROLS, ...SANDBOX_OPTIONAL_CONTROLS].toSorted());
});

describe("a control that does not hold is missing from the evidence", AT_ONCE, () => {
  for (const [control, { missing, also = [], onlyBox }] of Object.entries(LOST))
    test(control, async (t) => {
      if (onlyBox && !sound.controls.includes(control)) return t.skip("this machine does without it");
      await within(control, async (box) => {
        const gone = [control, ...also].toSorted();
        assert.deepEqual(named(box.controlsMissing), gone);
        assert.ok(box.controlsMissing.includes(`${control}: ${missing}`), box.controlsMissing.join());
        for (const name of gone) assert.ok(!box.controls.includes(name), `${name} is both confirmed and missing`);
        const report = await (await box.attach()).run(execution("true", { cwd: "/" }));
        const { verdict, errorMessage } = buildOutcome({ execute: report }).result;
        if (onlyBox) {
          assert.deepEqual([missingControls(report), verdict], [[], "AC"]);
          return;
        }
        assert.deepEqual(named(report.controlsMissing), gone);
        assert.deepEqual([verdict, errorMessage], ["IE", "a control of the sandbox could not be verified"]);
      });
    });

  test("resource_limits, which each execution has for itself", async () => {
    await within("resource_limits", async (box) => {
      assert.ok(!box.controls.includes("resource_limits"));
      const report = await (await box.attach()).run(execution("true"));
      assert.deepEqual(named(report.controlsMissing), ["resource_limits"]);
      assert.equal(buildOutcome({ execute: report }).result.verdict, "IE");
    });
  });
});

describe("without these, there is no sandbox", AT_ONCE, () => {
  for (const [control, refusals] of Object.entries(REFUSED))
    for (const { fault, why, network } of refusals)
      test(`${control}, with the fault ${fault}`, async (t) => {
        if (network && !sound.controls.includes("socket_limit")) return t.skip("this machine does without a network");
        await assert.rejects(
          within(fault, async () => {}, { network: network ?? null }),
          why,
        );
      });
});

describe("what cannot be read back is not confirmed", AT_ONCE, () => {
  const isV2 = () => sound.report.backend === "cgroup_v2";
  test("limits of memory and processes", async () => {
    for (const [control, file] of [
      ["memory_limit", isV2() ? "memory.max" : "memory.limit_in_bytes"],
      ["process_limit", "pids.max"],
    ] as const)
      await within(`unreadable:${file}`, async (box) => {
        assert.deepEqual(
          box.controlsMissing.filter((text) => text.startsWith(control)),
          [`${control}: cannot be read back`],
        );
      });
  });

  for (const [control, counts] of [
    ["socket_limit", "socket counts"],
    ["lock_limit", "lock counts"],
  ] as const)
    test(control, async (t) => {
      if (!sound.controls.includes(control)) return t.skip("this machine does without it");
      await within(`unreadable:${counts}`, async (box) => {
        assert.deepEqual(box.controlsMissing, [`${control}: cannot be read back`]);
        assert.ok(!box.controls.includes(control));
      });
    });
});

describe("a counter that cannot be read is an error of the evidence of the execution", AT_ONCE, () => {
  const COUNTERS: Readonly<Record<string, readonly string[]>> = {
    "cpu.stat": ["cpu time"],
    "pids.current": ["process count"],
  };
  for (const [file, facts] of Object.entries(COUNTERS))
    test(file, async () => {
      await within(`unreadable:${file}`, async (box) => {
        const report = await (await box.attach()).run(execution("true"));
        const { result, evidence } = buildOutcome({ execute: report });
        assert.deepEqual([result.verdict, evidence?.teardown.cleanupVerified ?? false], ["IE", false]);
        if (evidence)
          for (const fact of facts) assert.ok(named(evidence.teardown.collectionErrors).includes(fact), fact);
      });
    });
});

/** The groups of the only leaf of a sandbox in which a program runs, one in each tree. */
async function leaves(launcher: Launcher): Promise<string[]> {
  const running = () =>
    groupsOf(launcher).filter((path) => /\/h\d+\/e\d+$/.test(path) && read(join(path, "cgroup.procs")) !== "");
  await eventually("the program", () => running().length > 0);
  return running();
}

describe("what a sandbox leaves is in its evidence, and its end is not verified", AT_ONCE, () => {
  /** Ends a sandbox in which a program runs, after this. */
  const ended = (fault: string | null, before: (leaves: string[]) => Promise<void> | void) =>
    within(fault, async (box, launcher) => {
      const running = (await box.attach()).run(execution("sleep 600"));
      await before(await leaves(launcher));
      const [torn] = await Promise.all([box.end(), running.catch(() => {})]);
      return torn;
    });

  test("a zombie, which no kill can remove", async (t) => {
    let parent: ChildProcess | undefined;
    t.after(() => parent?.kill("SIGKILL"));
    const torn = await ended(null, async (all) => {
      // The child enters the groups and exits. Its parent becomes a sleep, which does not wait for it.
      const enter = all.map((leaf) => `echo 0 > '${join(leaf, "cgroup.procs")}'`);
      const script = `(${enter.join(" && ")} && echo in; exit 0) & exec sleep 600 > /dev/null`;
      parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"] });
      assert.equal((await parent.stdout?.toArray())?.join(""), "in\n");
    });
    const { cleanup_verified, processes_left } = recorded(torn);
    assert.deepEqual([cleanup_verified, processes_left], [false, 1]);
    parent?.kill("SIGKILL");
  });

  test("a group that cannot be removed", async () => {
    const inside: string[] = [];
    const torn = await within(null, async (box, launcher) => {
      const running = (await box.attach()).run(execution("sleep 600"));
      const [leaf] = await leaves(launcher);
      inside.push(join(leaf as string, "inside", "deeper"), join(leaf as string, "inside"));
      mkdirSync(inside[0] as string, { recursive: true });
      const [report] = await Promise.all([box.end(), running.catch(() => {})]);
      for (const path of inside) rmdirSync(path); // so that the launcher can remove the others when it ends
      return report;
    });
    const { cleanup_verified, groups_left } = recorded(torn);
    assert.deepEqual([cleanup_verified, groups_left], [false, ["groups of the sandbox"]]);
  });

  test("an init that does not end", async () => {
    const torn = await within("init_stays", (box) => box.end());
    assert.equal(torn.reaped, false);
    assert.equal(recorded(torn).cleanup_verified, false);
  });

  test("processes that cannot be counted", async () => {
    for (const [file, fact] of [
      ["pids.current", "process count"],
      ["cgroup.events", "populated"],
    ] as const) {
      const torn = await within(`unreadable:${file}`, (box) => box.end());
      assert.ok(named(torn.unreadFacts).includes(fact), torn.unreadFacts.join());
      assert.equal(recorded(torn).cleanup_verified, false);
    }
  });

  test("a mount", async () => {
    const torn = await within(null, async (box, launcher) => {
      const [holder] = childrenOf(launcher.pid); // no submission and no execution has a slot
      const act = "import ctypes; assert ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0";
      execFileSync("nsenter", [`--mount=/proc/${holder}/ns/mnt`, "/usr/bin/python3", "-c", act]);
      return await box.end();
    });
    assert.deepEqual(recorded(torn).residual_mounts, ["/tmp"]);
    assert.equal(recorded(torn).cleanup_verified, false);
  });
});

test("without a terminal of the machine, an execution with a terminal fails cleanly, and others run", async () => {
  await within("terminals", async (box) => {
    const slot = await box.attach();
    const refused = await slot.run(execution("tty", { terminal: { rows: 1, cols: 1 } }));
    assert.deepEqual(
      [refused.failure?.step, refused.failure?.errno, refused.teardown.pidsLeft],
      ["terminal", ENOSPC, 0],
    );
    assert.equal(buildOutcome({ execute: await slot.run(execution("true")) }).result.verdict, "AC");
  });
});
