import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import type { SandboxKeeper } from "../../../src/worker/sandboxes/keeper.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper } from "../../support/sandboxes/keeper.ts";
import { addKey, type Temporary, temporaryStore } from "../../support/store/temporary.ts";

/*
 * A sandbox is a computer as people expect it (docs/sandboxes.md, "What a sandbox has"): the tools that agents call without thinking work, although they have
 * no root, no network and no manager of packages. On SQLite only: the database has no part in it.
 */

const MIB = 1_048_576;

let launcher: Launcher;
let temporary: Temporary;
let keeper: SandboxKeeper;
let living: SandboxHandle;

before(async () => {
  launcher = await startLauncher({ sandboxes: 1, sandboxMemory: 1024 * MIB });
  temporary = await temporaryStore();
  const key = await addKey(temporary.store, "one");
  keeper = newKeeper({
    store: temporary.store,
    engine: sandboxesOf(launcher.socket),
    capacity: { sandboxes: 1, memoryBytes: 1024 * MIB, cpus: 1, diskBytes: 0, network: false },
  });
  const sandbox = await keeper.create(sandboxRequest(), callerOf(key), null);
  living = await keeper.find(sandbox.id, key.accountId);
});

after(async () => {
  await keeper.stop();
  await temporary.dispose();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

async function run(shell: string): Promise<string> {
  const { outcome } = await (await living.execute(shellRequest(shell))).ended;
  const { stdout, stderr } = outcome?.output ?? {};
  assert.equal(outcome?.result.verdict, "AC", `${shell}: ${outcome?.result.errorMessage} ${stdout}${stderr}`);
  return stdout?.toString() ?? "";
}

test("git makes, clones and merges repositories", async () => {
  const script = `set -e
git init -q -b main one && cd one
git config user.name Agent && git config user.email agent@example.com
echo 1 > file && git add file && git commit -qm "first"
git checkout -qb other && echo 2 >> file && git commit -qam "second"
git checkout -q main && git merge -q other && git clone -q . ../two
git -C ../two log --format=%s && cat ../two/file`;
  assert.equal(await run(script), "second\nfirst\n1\n2\n");
});

test("pip installs a wheel for the user, and programs of it are in PATH", async () => {
  const wheel = `
import zipfile
with zipfile.ZipFile("greeting-1.0-py3-none-any.whl", "w") as z:
    z.writestr("greeting.py", "def main(): print('hello')\\n")
    z.writestr("greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n")
    z.writestr("greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr("greeting-1.0.dist-info/entry_points.txt", "[console_scripts]\\ngreet = greeting:main\\n")
    z.writestr("greeting-1.0.dist-info/RECORD", "")`;
  await run(
    `cat > make.py <<'end'\n${wheel}\nend\npython3 make.py && pip install -q --no-index ./greeting-1.0-py3-none-any.whl`,
  );
  assert.equal(await run("greet && python3 -c 'import greeting; greeting.main()'"), "hello\nhello\n");
});

test("npm packs, installs for the user and for a project, and runs scripts, without a network", async () => {
  const script = `set -e
mkdir -p greeter/bin && cd greeter
npm init -y > /dev/null && npm pkg set bin.welcome=bin/welcome.js
printf '#!/usr/bin/env node\\nconsole.log("welcome", process.argv[2] ?? "")\\n' > bin/welcome.js
cd .. && npm pack -s ./greeter
npm install -g ./greeter-1.0.0.tgz > /dev/null && command -v welcome && welcome you
mkdir site && cd site && npm init -y > /dev/null && npm pkg set scripts.start='welcome here'
npm install ../greeter-1.0.0.tgz > /dev/null && npm run -s start && npx welcome again && npm ls --parseable
npm prefix -g; npm uninstall -g greeter > /dev/null && ls -A ~/.local/bin | grep -c welcome || true`;
  assert.equal(
    await run(script),
    "greeter-1.0.0.tgz\n/home/user/.local/bin/welcome\nwelcome you\nwelcome here\nwelcome again\n" +
      "/home/user/site\n/home/user/site/node_modules/greeter\n/home/user/.local\n0\n",
  );
  // What needs a registry fails at once, and says why.
  assert.match(await run("npm install left-pad 2>&1 || true"), /EAI_AGAIN|ENOTFOUND|ECONNREFUSED/);
});

test("a setting of npm that the user makes takes precedence over the built-in one", async () => {
  assert.equal(
    await run("npm config set prefix ~/elsewhere && npm prefix -g; npm config delete prefix && npm prefix -g"),
    "/home/user/elsewhere\n/home/user/.local\n",
  );
});

test("make, SQLite and compilers work on files of the sandbox", async () => {
  assert.equal(
    await run("printf 'all: b\\n\\t@cat b\\nb: a\\n\\t@sed s/1/2/ a > b\\n' > Makefile && echo 1 > a && make"),
    "2\n",
  );
  const sql = "create table t (a); insert into t values (1), (2); select sum(a) from t;";
  assert.equal(await run(`sqlite3 db "${sql}" && sqlite3 db 'select count(*) from t'`), "3\n2\n");
});

test("sudo runs commands as the user of the sandbox, whatever options it has", async () => {
  assert.equal(
    await run("sudo -E -u root -- id -un; sudo NAME=value sh -c 'echo $NAME'; sudo -n true && echo done"),
    "user\nvalue\ndone\n",
  );
});

test("ps, top and free show the sandbox and nothing else", async () => {
  assert.equal(await run("sleep 5 & ps -o comm= -p $! && kill $!"), "sleep\n");
  assert.match(await run("top -bn1 | head -3"), /^top - .*\nTasks: +\d+ total/);
  assert.equal(await run("free -b | awk '/^Mem/ { print $2 }'"), `${living.sandbox.limits.memoryBytes}\n`);
  const users = (await run("ps -eo user= | sort -u")).trim().split("\n");
  assert.deepEqual(users, ["user"]);
});

test("only the home directory and temporary files can be written", async () => {
  const script =
    "for d in / /etc /usr /usr/local /opt /home; do touch $d/x 2>/dev/null && echo $d; done; touch ~/x /tmp/x /dev/shm/x && echo rest";
  assert.equal(await run(script), "rest\n");
});
