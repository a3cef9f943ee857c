import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadConfig } from "../../../src/config.ts";
import { boundingSet, launcherCapabilities, startCapabilities, UNITS, unit } from "../../support/deploy/units.ts";
import { ROOT } from "../../support/repo/documents.ts";
import { directory, Machine, readiness } from "../hosts/host.ts";

/** The units that set-up writes for a data directory. */
function written(t: TestContext, role: "serve" | "worker", ownWorker: "yes" | "no"): { data: string; units: string } {
  const [data, units] = [directory(t), directory(t)];
  mkdirSync(join(data, "current"));
  symlinkSync(process.execPath, join(data, "current/node"));
  symlinkSync(ROOT, join(data, "current/app"));
  const script = `checkout=$1 data=$2 role=$4 own_worker=$5 app=$1
    for part in log release units; do . "$1/setup/$part.sh"; done
    units_dir=$3
    changed() { :; }
    write_units "$(units_of_role | head -n 1)" 77`;
  execFileSync("sh", ["-euc", script, "sh", ROOT, data, units, role, ownWorker]);
  return { data, units };
}

for (const [role, ownWorker, expected] of [
  ["serve", "yes", ["assay.service", "assay-launcher.service"]],
  ["serve", "no", ["assay.service"]],
  ["worker", "yes", ["assay-worker.service", "assay-launcher.service"]],
] as const) {
  test(`systemd reports nothing about the units of ${role}, own worker ${ownWorker}, in any data directory`, (t) => {
    const { data, units } = written(t, role, ownWorker);
    for (const name of expected) {
      const path = join(units, name);
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
      assert.deepEqual([status, stderr], [0, ""], name);
      const text = readFileSync(path, "utf8");
      assert.doesNotMatch(text.replaceAll(data, ""), /\/var\/lib\/assay/);
      assert.match(text, new RegExp(`^ExecStart=${data}/current/`, "m"));
      assert.match(text, name === "assay-launcher.service" ? /^TimeoutStopSec=25$/m : /^TimeoutStopSec=77$/m);
    }
    assert.deepEqual(execFileSync("ls", [units], { encoding: "utf8" }).trim().split("\n"), [...expected].sort());
  });
}

test("rejects a data directory that units cannot access before set-up", () => {
  const seen = (data: string) => {
    const script = 'data=$2; . "$1/setup/log.sh"; . "$1/setup/units.sh"; units_see_data';
    return spawnSync("sh", ["-euc", script, "sh", ROOT, data], { encoding: "utf8" });
  };
  for (const data of ["/tmp/a", "/var/tmp/a/b", "/home/user/assay", "/root", "/run/user/0/a"]) {
    const { status, stderr } = seen(data);
    assert.deepEqual([status, stderr.includes(`choose a data directory other than ${data}`)], [1, true], data);
  }
  for (const data of ["/var/lib/assay", "/srv/home/assay", "/tmpfs"]) assert.equal(seen(data).status, 0, data);
});

/**
 * Exposure by `systemd-analyze security` of systemd 252, in tenths: from 0 to 100, which is unrestricted root. CAP_NET_ADMIN, with which
 * sandboxes get a loopback interface, is 2 of the launcher's, and the loop devices for their disks are 1. */
const EXPOSURE = { "assay-launcher.service": 73, "assay.service": 15, "assay-worker.service": 15 };

for (const name of UNITS) {
  test(`the exposure of ${name} does not increase`, () => {
    const path = join(ROOT, "deploy/systemd", name);
    const ask = (most: number) =>
      spawnSync("systemd-analyze", ["security", "--offline=yes", `--threshold=${most}`, path], { encoding: "utf8" });
    const { status, stdout, stderr } = ask(EXPOSURE[name]);
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.notEqual(ask(5).status, 0);
  });

  test(`${name} has a reason for each omitted directive`, () => {
    const text = readFileSync(join(ROOT, "deploy/systemd", name), "utf8");
    const [, excuses = ""] = /^# Left out, with the reason:\n((?:#.*\n)+)/m.exec(text) ?? [];
    const hardening = [
      ..."LockPersonality MemoryDenyWriteExecute NoNewPrivileges PrivateDevices PrivateTmp PrivateUsers".split(" "),
      ..."ProtectClock ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs".split(" "),
      ..."ProtectKernelModules ProtectKernelTunables ProtectProc ProtectSystem RemoveIPC".split(" "),
      ..."RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID".split(" "),
      ..."SystemCallArchitectures SystemCallFilter PrivateNetwork CapabilityBoundingSet ProcSubset".split(" "),
    ];
    for (const directive of hardening)
      assert.ok(unit(name).has(directive) !== new RegExp(`\\b${directive}\\b.*(:|,)`).test(excuses), directive);
  });
}

test("the launcher's unit has the launcher's capabilities, and the other units have none", () => {
  const listed = unit("assay-launcher.service")
    .get("CapabilityBoundingSet")
    ?.flatMap((line) => line.split(" "));
  assert.equal(launcherCapabilities().length, 12);
  assert.deepEqual(listed?.sort(), startCapabilities());
  for (const name of ["assay.service", "assay-worker.service"] as const) {
    for (const directive of ["CapabilityBoundingSet", "AmbientCapabilities"])
      assert.deepEqual(unit(name).get(directive), []);
    assert.deepEqual([unit(name).get("User"), unit(name).get("NoNewPrivileges")], [["assay"], ["yes"]]);
  }
});

test("the units set only known settings, and their stop time covers a drain", () => {
  for (const name of ["assay.service", "assay-worker.service"] as const) {
    const set = unit(name).get("Environment") ?? [];
    const config = loadConfig({}, Object.fromEntries(set.map((one) => one.split(/=(.*)/s))));
    assert.deepEqual(config.unknownSettings, []);
    assert.equal(config.launcherSocket, "/run/assay-launcher/launcher.sock");
    assert.deepEqual(config.operatorListen, { path: "/run/assay-service/operator.sock" });
    const directory = "/run/assay-egress/egress";
    assert.equal(config.egress?.directory, directory);
    assert.ok(unit(name).get("ReadWritePaths")?.includes(`-${directory}`), "it makes its socket there");
    assert.deepEqual(unit(name).get("TimeoutStopSec"), [String(config.drainMs / 1000 + 15)]);
  }
  assert.ok(unit("assay-launcher.service").get("ExecStart")?.[0]?.endsWith(" /run/assay-launcher/launcher.sock"));
});

test("under the launcher's unit all requirements are met, and a program runs with every control", async (t) => {
  const directives = unit("assay-launcher.service");
  const capabilities = (directives.get("CapabilityBoundingSet") ?? []).flatMap((line) => line.split(" "));
  // ProtectSystem, ProtectHome and ProtectKernelTunables, as far as a mount namespace can apply them; test files stay writable.
  const prepare = `
    mount --bind "$TMPDIR" "$TMPDIR"; mount --bind "$ASSAY_TEST_DATA" "$ASSAY_TEST_DATA"
    mount -o remount,bind,ro /; mount -t tmpfs -o mode=0,ro none /home
    mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys`;
  for (const directive of ["PrivateNetwork", "PrivateIPC", "NoNewPrivileges"])
    assert.deepEqual(directives.get(directive), ["yes"]);
  const apart = ["unshare", "--net", "--ipc"];
  const under = [...apart, "setpriv", "--no-new-privs", "--bounding-set", boundingSet(capabilities)];
  const machine = await Machine.with(t, { prepare, under });
  const { ok, missing } = await machine.doctor();
  assert.equal(ok, true, missing.join(" "));
  const launcher = await machine.launcher();
  if (typeof launcher === "string") assert.fail(launcher);
  const status = readFileSync(`/proc/${launcher.pid}/status`, "utf8");
  assert.match(status, /^NoNewPrivs:\t1$/m);
  const service = await machine.service();
  const { json } = await readiness(service);
  assert.deepEqual([json.status, json.enforcement_mode], ["ready", "strict"]);
  assert.equal(await launcher.stop(), 0);
});

test("without one of its capabilities, the launcher's unit could not make a box", async (t) => {
  for (const lost of ["CAP_SYS_ADMIN", "CAP_MKNOD", "CAP_SETUID"]) {
    const kept = launcherCapabilities().filter((name) => name !== lost);
    const machine = await Machine.with(t, { under: ["setpriv", "--bounding-set", boundingSet(kept)] });
    assert.equal((await machine.doctor()).ok, false, lost);
  }
});
