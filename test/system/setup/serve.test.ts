import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { stopwatch } from "../../support/stopwatch.ts";
import { Command, FakeCheckout } from "./fake-checkout.ts";
import { childrenOf, commandLine, startedBelow } from "./processes.ts";

test("serve announces the address, the authority and, once, a key; SIGTERM drains and ends with 0", async () => {
  using fake = new FakeCheckout();
  for (const time of ["first", "second"]) {
    const serve = fake.start("serve", "--listen", "0.0.0.0:9443");
    await serve.says(/welcome#fake/);
    serve.child.kill("SIGTERM");
    const { code, stdout, stderr } = await serve.end();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /ready in \d+\.\d s: https:\/\/127\.0\.0\.1:9443\n/);
    assert.equal(stdout.includes(`curl --cacert ${fake.data}/tls/ca.pem 'https://127.0.0.1:9443/`), time === "first");
    assert.equal(stdout.includes("X-API-Key: assay_live_fake"), time === "first");
    const settings = `export ASSAY_URL='https://127.0.0.1:9443' ASSAY_CA='${fake.data}/tls/ca.pem'`;
    assert.ok(stderr.includes(`for a client's shell: ${settings}\n`), stderr);
    assert.equal(stdout.includes(`\n${settings} ASSAY_KEY='assay_live_fake`), time === "first");
    assert.match(stdout, /^ {2}https:\/\/127\.0\.0\.1:9443\/dashboard\/welcome#fake$/m);
    assert.match(stdout, /drained/);
    assert.deepEqual(fake.list("run"), []);
  }
});

test("the service receives the dashboard, which is built once per version", async () => {
  using fake = new FakeCheckout();
  const pages = async () => {
    const serve = fake.start("serve");
    await serve.says(/ready in/);
    serve.child.kill("SIGTERM");
    return JSON.parse((await serve.end()).stdout.split("\n")[0] ?? "").page;
  };
  assert.equal(await pages(), "the page");
  fake.write("src/new.ts", "");
  assert.equal(await pages(), "the page");
  assert.equal(fake.count("dashboard-built"), 1);
  fake.write("dashboard/index.html", "another page");
  assert.equal(await pages(), "another page");
  assert.equal(fake.count("dashboard-built"), 2);
});

test("the service has no privilege and can't gain one", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  serve.child.kill("SIGTERM");
  const { stdout } = await serve.end();
  const { uid, status, files } = JSON.parse(stdout.split("\n")[0] ?? "");
  assert.deepEqual(
    files.filter((file: string) => !/^\/(dev|proc)\//.test(file)),
    [],
    "no file of root's is open",
  );
  assert.notEqual(uid, 0);
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
    assert.match(status, new RegExp(`^${set}:\\t0+$`, "m"));
  }
  assert.match(status, /^NoNewPrivs:\t1$/m);
  assert.match(status, /^Groups:\t *$/m);
});

test("root follows no link that a service created in its own directories", async () => {
  using fake = new FakeCheckout();
  await fake.run("keys", "list");
  const outside = join(fake.root, "outside");
  mkdirSync(outside);
  for (const name of ["first-key", "db.sqlite", "webhook.key"]) {
    for (const own of ["db", "keys"]) symlinkSync(join(outside, name), join(fake.data, own, name));
  }
  const serve = fake.start("serve");
  await serve.says(/curl .*\n.*\n.*\n/);
  serve.child.kill("SIGTERM");
  assert.equal((await serve.end()).code, 0);
  assert.deepEqual(readdirSync(outside), []);
});

test("the authority of webhook receivers may be readable only by root", async () => {
  using fake = new FakeCheckout();
  const secret = join(fake.root, "secret");
  mkdirSync(secret, { mode: 0o700 });
  writeFileSync(join(secret, "ca.pem"), "authority\n", { mode: 0o600 });
  for (const args of [["--webhook-ca", join(secret, "ca.pem")], [`--webhook-ca=${join(secret, "ca.pem")}`], []]) {
    const serve = fake.start("serve", ...args);
    await serve.says(/ready in/);
    serve.child.kill("SIGTERM");
    const { code, stdout } = await serve.end();
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout.split("\n")[0] ?? "").webhookCa, args.length > 0 ? "authority\n" : null);
  }
  const { code, stderr } = await fake.run("serve", "--webhook-ca", "/nowhere/ca.pem");
  assert.equal(code, 2);
  assert.match(stderr, /--webhook-ca: there is no file '\/nowhere\/ca\.pem'/);
});

for (const [part, pattern] of [
  ["launcher", "/assay-launcher\0"],
  ["service", "/src/main.ts\0serve\0"],
] as const) {
  test(`a ${part} that dies is restarted, the other continues, and both stop normally`, async () => {
    using fake = new FakeCheckout();
    const serve = fake.start("serve");
    await serve.says(/ready in/);
    const children = () => startedBelow(serve.child.pid ?? 0);
    const [old, other] = [
      children().find((child) => commandLine(child).includes(pattern)),
      children().find(
        (child) => /assay-launcher\0|main\.ts\0serve/.test(commandLine(child)) && !commandLine(child).includes(pattern),
      ),
    ];
    process.kill(old ?? assert.fail(`no child is the ${part}`), "SIGKILL");
    await serve.says(new RegExp(`the ${part} ended by itself by signal 9; starting it again\n`));
    let next: number | undefined;
    while (!next) {
      next = children().find((child) => child !== old && commandLine(child).includes(pattern));
      await sleep(10);
    }
    assert.ok(children().includes(other ?? 0));
    // The second stand-in handles signals as well, once it has printed or listens.
    if (part === "service") await serve.says(/"uid"[\s\S]*\n[\s\S]*"uid"[\s\S]*\n/);
    else
      while (!fake.list("run").some((one) => existsSync(join(fake.data, "run", one, "launcher.sock")))) await sleep(10);
    serve.child.kill("SIGTERM");
    const { code, stdout, stderr } = await serve.end();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /drained/);
    assert.deepEqual(fake.list("run"), []);
  });
}

test("a service that ends repeatedly is restarted with pauses, which a signal ends", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
  const app = join(fake.data, "app", fake.list("app")[0] ?? "");
  writeFileSync(join(app, "src/main.ts"), `if (process.argv[2] === "serve") process.exit(3);\n${main}`);
  const [service] = startedBelow(serve.child.pid ?? 0).filter((child) => commandLine(child).includes("/src/main.ts\0"));
  process.kill(service ?? assert.fail(), "SIGKILL");
  await serve.says(/the service ended by itself by signal 9; starting it again\n/);
  for (const pause of ["", "", " in 1 s", " in 2 s"])
    await serve.says(new RegExp(`the service ended by itself with status 3; starting it again${pause}\n`));
  const tookMs = stopwatch();
  serve.child.kill("SIGTERM");
  assert.equal((await serve.end()).code, 0);
  assert.ok(tookMs() < 1_500);
  assert.deepEqual(fake.list("run"), []);
});

for (const [part, path, text] of [
  ["service", "src/main.ts", "process.exit(3);\n"],
  ["launcher", "launcher/build", ""],
] as const) {
  test(`a ${part} that ends before it was first ready fails the command`, async () => {
    using fake = new FakeCheckout();
    const real = readFileSync(join(fake.checkout, path), "utf8");
    fake.write(path, part === "service" ? text + real : real.replace("createServer()", "process.exit(3)"), 0o755);
    const { code, stderr } = await fake.run("serve");
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(part === "service" ? "the service ended by itself with status 3" : "the launcher did not start"),
    );
    assert.doesNotMatch(stderr, /again/);
    assert.deepEqual(fake.list("run"), []);
  });
}

test("serve without a worker builds no sandbox, starts no launcher, and passes the database on", async () => {
  using fake = new FakeCheckout();
  const url = "postgres://assay@db.example/assay";
  const serve = fake.start("serve", "--no-worker", "--database", url);
  await serve.says(/ready in/);
  assert.deepEqual(
    startedBelow(serve.child.pid ?? 0).filter((child) => commandLine(child).includes("/assay-launcher")),
    [],
  );
  serve.child.kill("SIGTERM");
  const { code, stdout, stderr } = await serve.end();
  assert.equal(code, 0, stderr);
  const { args, database } = JSON.parse(stdout.split("\n")[0] ?? "");
  assert.equal(database, url);
  assert.ok(args.includes("--no-worker") && !args.includes("--launcher-socket"));
  assert.deepEqual([fake.count("image-built"), fake.count("launcher-built")], [0, 0]);
});

test("a worker has a launcher and no address, runs alongside a service, and drains", async () => {
  using fake = new FakeCheckout();
  const url = "postgres://assay@db.example/assay";
  const [serve, worker] = [
    fake.start("serve", "--no-worker", "--database", url),
    fake.start("worker", "--database", url),
  ];
  await Promise.all([serve.says(/ready in/), worker.says(/working: ready in/)]);
  for (const one of [serve, worker]) one.child.kill("SIGTERM");
  for (const one of [serve, worker]) {
    const { code, stdout, stderr } = await one.end();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /drained/);
  }
  assert.deepEqual(fake.list("run"), []);
});

test("rejects a worker without a shared database", async () => {
  using fake = new FakeCheckout();
  const { code, stderr } = await fake.run("worker");
  assert.equal(code, 1);
  assert.match(stderr, /a separate worker needs --database postgres:/);
});

test("another machine creates no first key in a database with keys", async () => {
  using fake = new FakeCheckout();
  const main = readFileSync(join(fake.checkout, "src/main.ts"), "utf8");
  fake.write(
    "src/main.ts",
    main.replace('if (command === "keys")', 'if (command === "keys" && !args.includes("--if-empty"))'),
  );
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  await serve.says(/authority/);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  serve.child.kill("SIGTERM");
  const { code, stdout } = await serve.end();
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /first key/);
});

test("a signal to the whole process group drains the service like a signal to serve", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  process.kill(-(serve.child.pid ?? 0), "SIGTERM");
  const { code, stdout, stderr } = await serve.end();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /drained/);
});

test("without a terminal, HUP makes the service reload and continue", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  for (const times of [1, 2]) {
    serve.child.kill("SIGHUP");
    await serve.says(new RegExp(`(reloaded[\\s\\S]*){${times}}`));
  }
  serve.child.kill("SIGTERM");
  const { code, stdout, stderr } = await serve.end();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /reloaded\n[\s\S]*drained/);
});

test("closing the terminal ends serve and its processes", async () => {
  using fake = new FakeCheckout();
  const terminal = new Command("script", ["-qec", `${fake.checkout}/assay serve`, "/dev/null"], {
    ASSAY_DATA: fake.data,
    TERM: "dumb",
  });
  await terminal.says(/ready in/);
  const [shell = 0] = childrenOf(terminal.child.pid ?? 0);
  assert.notDeepEqual(fake.list("run"), []);
  terminal.child.kill("SIGKILL");
  await terminal.end();
  const until = Date.now() + 20_000;
  while (fake.list("run").length > 0 && Date.now() < until) await sleep(50);
  assert.deepEqual(fake.list("run"), []);
  while (existsSync(`/proc/${shell}`) && Date.now() < until) await sleep(50);
  assert.equal(existsSync(`/proc/${shell}`), false);
});

test("on a terminal, Ctrl-C drains the service, a killed service is restarted, and neither has the terminal", async () => {
  using fake = new FakeCheckout();
  const terminal = new Command("script", ["-qec", `exec ${fake.checkout}/assay serve`, "/dev/null"], {
    ASSAY_DATA: fake.data,
    TERM: "dumb",
  });
  await terminal.says(/welcome#fake/);
  const [shell = 0] = childrenOf(terminal.child.pid ?? 0);
  const service = () => startedBelow(shell).find((child) => /main\.ts\0serve\0/.test(commandLine(child)));
  const descriptors = (pid: number) => [0, 1, 2].map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  const first = service() ?? assert.fail("no child is the service");
  assert.doesNotMatch(descriptors(first).join(), /pts|tty/);
  process.kill(first, "SIGKILL");
  await terminal.says(/the service ended by itself by signal 9; starting it again/);
  await terminal.says(/"uid"[\s\S]*\n[\s\S]*"uid"[\s\S]*\n/);
  assert.doesNotMatch(descriptors(service() ?? 0).join(), /pts|tty/);
  terminal.child.stdin.write("\u0003");
  await terminal.says(/drained/);
  const { code, stdout } = await terminal.end();
  assert.equal(code, 0, stdout);
  assert.match(stdout, /The first key, shown this once: assay_live_fake\r\n/);
  assert.match(stdout, /stopping[\s\S]*drained\r\n$/);
  assert.deepEqual(fake.list("run"), []);
});

test("serve waits for the drain time and some seconds more", async () => {
  using fake = new FakeCheckout();
  for (const [drainMs, seconds] of [
    ["0", 15],
    ["1001", 17],
    ["3600000", 3615],
    [undefined, 35],
  ] as const) {
    const serve = fake.startWith(drainMs === undefined ? {} : { ASSAY_DRAIN_MS: drainMs }, "serve");
    await serve.says(/ready in/);
    const supervisors = childrenOf(serve.child.pid ?? 0).map(commandLine);
    const [, stop] =
      supervisors
        .map((line) => /\0--process\0service\0.*?\0--stop-seconds\0(\d+)\0/.exec(line))
        .find((found) => found) ?? [];
    assert.equal(stop, String(seconds));
    serve.child.kill("SIGTERM");
    assert.equal((await serve.end()).code, 0);
  }
  const wrong = await fake.startWith({ ASSAY_DRAIN_MS: "1s" }, "serve").end();
  assert.deepEqual([wrong.code, /ASSAY_DRAIN_MS must be a whole number/.test(wrong.stderr)], [2, true]);
});

test("during serve, a second serve and uninstall fail, and keys works", async () => {
  using fake = new FakeCheckout();
  const serve = fake.start("serve");
  await serve.says(/ready in/);
  const second = await fake.run("serve");
  assert.equal(second.code, 1);
  assert.match(second.stderr, /another 'assay serve' runs/);
  const uninstall = await fake.run("uninstall", "--yes");
  assert.equal(uninstall.code, 1);
  assert.match(uninstall.stderr, /still running; stop it first/);
  assert.equal((await fake.run("keys", "list")).code, 0);
  serve.child.kill("SIGTERM");
  assert.equal((await serve.end()).code, 0);
});

test("uninstall asks, and removes everything except a user and packages that existed before", async () => {
  using fake = new FakeCheckout();
  await fake.run("run");
  writeFileSync(
    join(fake.data, "changes.log"),
    "2026-01-01T00:00:00Z  installed Debian packages: gcc make\n2026-01-02T00:00:00Z  installed Debian packages: npm\n",
  );
  const unasked = await fake.run("uninstall");
  assert.equal(unasked.code, 1);
  assert.match(unasked.stderr, /uninstall --yes/);
  const ended = await fake.run("uninstall", "--yes");
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /apt-get autoremove gcc make npm/);
  assert.equal(existsSync(fake.data), false);
  execFileSync("getent", ["passwd", "assay"]);
});

test("uninstall succeeds while a process of the service's user creates files in the data directory", async () => {
  using fake = new FakeCheckout();
  await fake.run("run");
  const create = 'cd "$0" && echo ready && n=0 && while :; do n=$((n + 1)); : >"$n"; done';
  const args = ["--reuid", "assay", "--clear-groups", "timeout", "50", "sh", "-c", create, join(fake.data, "db")];
  const creator = spawn("setpriv", args, { stdio: ["ignore", "pipe", "ignore"] });
  await once(creator.stdout, "data");
  const ended = await fake.run("uninstall", "--yes");
  creator.kill();
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(existsSync(fake.data), false);
});
