// Typical use of Node's library, which the system call filter must allow.
const assert = require("node:assert");
const { execFileSync, execSync, fork, spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const zlib = require("node:zlib");
const { pipeline } = require("node:stream/promises");
const { setTimeout: sleep } = require("node:timers/promises");
const { promisify } = require("node:util");
const { Worker, isMainThread, parentPort } = require("node:worker_threads");

if (!isMainThread) parentPort.on("message", (n) => parentPort.postMessage(n * n));
else if (process.argv[2] === "child") process.send("hello", () => process.disconnect());
else main();

async function files() {
  const place = await fs.promises.mkdtemp(`${os.tmpdir()}/typical-`);
  const path = `${place}/a`;
  await fs.promises.writeFile(path, "text\n".repeat(1000));
  await fs.promises.appendFile(path, "more");
  const handle = await fs.promises.open(path, "r+");
  await handle.write("x", 3);
  await handle.read(Buffer.alloc(10), 0, 10, 0);
  await handle.writev([Buffer.from("a"), Buffer.from("b")]);
  await handle.sync();
  await handle.datasync();
  await handle.truncate(100);
  await handle.utimes(1, 2);
  await handle.chmod(0o600);
  await handle.close();
  await fs.promises.copyFile(path, `${place}/b`);
  await fs.promises.cp(path, `${place}/c`);
  await fs.promises.link(path, `${place}/link`);
  await fs.promises.symlink(path, `${place}/symbolic`);
  await fs.promises.readlink(`${place}/symbolic`);
  await fs.promises.realpath(`${place}/symbolic`);
  await fs.promises.rename(`${place}/link`, `${place}/renamed`);
  await fs.promises.access(path);
  await fs.promises.mkdir(`${place}/x/y/z`, { recursive: true });
  await fs.promises.readdir(place, { recursive: true });
  await fs.promises.statfs(place);
  await fs.promises.lstat(path);
  await pipeline(fs.createReadStream(path), zlib.createGzip(), fs.createWriteStream(`${place}/packed`));
  fs.readFileSync("/dev/null");
  fs.existsSync("/nowhere");
  fs.fdatasyncSync(fs.openSync(path));
  await fs.promises.rm(place, { recursive: true });
}

async function processes() {
  assert.equal(execFileSync("cat", { input: "x" }).toString(), "x");
  assert.equal(execSync("ls / | head -1").toString().length > 0, true);
  const shell = spawn("sh", ["-c", "read line; echo $line; exit 3"], { detached: true });
  shell.stdin.end("line\n");
  assert.equal((await once(shell, "close"))[0], 3);
  const killed = spawn("sleep", ["10"]);
  killed.kill("SIGTERM");
  assert.equal((await once(killed, "exit"))[1], "SIGTERM");
  const child = fork(__filename, ["child"]);
  assert.equal((await once(child, "message"))[0], "hello");
}

async function threads() {
  const worker = new Worker(__filename);
  worker.postMessage(4);
  assert.equal((await once(worker, "message"))[0], 16);
  await worker.terminate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  await promisify(require("node:crypto").pbkdf2)("a", "b", 10, 32, "sha256");
  await require("node:dns").promises.lookup("localhost").catch(() => {});
}

async function sockets() {
  const server = net.createServer((socket) => socket.pipe(socket)).listen("/tmp/socket");
  await once(server, "listening");
  const client = net.connect("/tmp/socket");
  client.write("hello");
  assert.equal(String((await once(client, "data"))[0]), "hello");
  client.end();
  server.close();
  const refused = net.connect(80, "127.0.0.1");
  await once(refused, "error");
}

async function main() {
  process.on("SIGUSR2", () => {});
  process.kill(process.pid, "SIGUSR2");
  process.title = "typical";
  await files();
  await threads();
  await processes();
  await sockets();
  const database = new (require("node:sqlite").DatabaseSync)("/box/some.db");
  database.exec("create table t (n); insert into t values (1)");
  database.close();
  os.cpus(), os.loadavg(), os.uptime(), os.totalmem(), os.getPriority(), os.availableParallelism();
  process.memoryUsage(), process.resourceUsage(), process.umask(), process.hrtime.bigint();
  await sleep(5);
  const interval = setInterval(() => clearInterval(interval), 1);
  await new Promise(setImmediate);
  for await (const _ of process.stdin);
  console.log("ok");
}
