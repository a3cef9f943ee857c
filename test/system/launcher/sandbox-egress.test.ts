import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, exists, groupsOf, read, tracesLeft } from "../../support/launcher/machine.ts";
import { answerOf, PermissiveProxy } from "../../support/launcher/permissive-proxy.ts";
import { execution, hold, output, python, REMOVED, rejoin, Screen } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;
/** What an idle network may cost, in bytes that are charged to the sandbox. */
const IDLE_BYTES = 300_000;
const TOKEN = "0123456789abcdef0123456789abcdef";
const OTHER_TOKEN = "f123456789abcdef0123456789abcde0";
const MOST_STREAMS = 128;
const ENOBUFS = 105;

/** Connects, and writes the name of the error if that or the first answer fails, or what came back. */
const CONNECT = `
import socket, sys
def connect(host, port, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(20)
    try:
        s.connect((host, port))
        s.sendall(b"hello")
        return s.recv(5).decode() or "end"
    except OSError as e:
        return type(e).__name__
`;

describe("the network of a sandbox", () => {
  let launcher: Launcher;
  let proxy: PermissiveProxy;
  const echo = new PermissiveProxy().onStream;

  before(async () => {
    proxy = new PermissiveProxy();
    await proxy.listen();
    launcher = await startLauncher({ slots: 1, sandboxes: 3, sandboxMemory: 4 * 1024 ** 3, egress: proxy.directory });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
    await proxy.close();
    proxy.remove();
  });

  /** Runs a program in a new sandbox with a network. */
  async function inSandbox(program: string): Promise<string> {
    const box = await hold(launcher, { network: TOKEN });
    assert.deepEqual(box.controlsMissing, []);
    assert.ok(box.controls.includes("no_route_out"));
    const written = await output(await box.attach(), python(CONNECT + program));
    assert.deepEqual(await box.end(), REMOVED);
    return written.trim();
  }

  test("every address and port leads to the proxy, which hears what the program has dialled, and by which execution", async () => {
    proxy.announced.length = 0;
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    const begun: bigint[] = [];
    const report = await slot.run(
      execution(
        python(`${CONNECT}
for where in (("93.184.216.34", 443), ("8.8.8.8", 22), ("10.0.0.1", 1), ("169.254.169.254", 80), ("255.1.2.3", 65535)):
    print(connect(*where))
print(connect("2606:2800:220:1::1", 443, socket.AF_INET6))`),
      ),
      () => {},
      (groupId) => begun.push(groupId),
    );
    assert.equal(report.stdout.toString(), "hello\n".repeat(6), report.stderr.toString());
    assert.deepEqual(
      proxy.announced.map(({ address, port, token }) => [address, port, token]),
      [
        ["93.184.216.34", 443, TOKEN],
        ["8.8.8.8", 22, TOKEN],
        ["10.0.0.1", 1, TOKEN],
        ["169.254.169.254", 80, TOKEN],
        ["255.1.2.3", 65535, TOKEN],
        ["2606:2800:220:1:0:0:0:1", 443, TOKEN],
      ],
    );
    assert.equal(begun.length, 1);
    assert.deepEqual(new Set(proxy.announced.map(({ group }) => group)), new Set(begun));
    assert.equal(new Set(proxy.announced.map(({ stream }) => stream)).size, 6);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("programs reach each other over the loopback interface, and cannot take connections that are meant for others", async () => {
    proxy.announced.length = 0;
    const written = await inSandbox(`
import threading
own = socket.socket(); own.bind(("127.0.0.1", 8080)); own.listen()
def serve():
    c, _ = own.accept(); c.sendall(b"local"); c.close()
threading.Thread(target=serve, daemon=True).start()
print(connect("127.0.0.1", 8080))
print(connect("127.0.0.1", 8081))
thief = socket.socket(); thief.bind(("93.184.216.34", 443)); thief.listen()
print(connect("93.184.216.34", 443))
wild = socket.socket(); wild.bind(("0.0.0.0", 5432)); wild.listen()
print(connect("198.18.0.9", 5432))`);
    assert.deepEqual(written.split("\n"), ["local", "ConnectionRefusedError", "hello", "hello"]);
    assert.deepEqual(
      proxy.announced.map(({ port }) => port),
      [443, 5432],
    );
  });

  test("names are resolved by the proxy alone, whichever server a program asks, and other datagrams are refused", async () => {
    proxy.queries.length = 0;
    proxy.onQuery = (query) => answerOf(query, [198, 18, 0, 7]);
    const written = await inSandbox(`
print(socket.gethostbyname("example.org"))
query = b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3org\\0\\0\\1\\0\\1"
for family, server in ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET6, "2001:4860:4860::8888")):
    u = socket.socket(family, socket.SOCK_DGRAM); u.settimeout(20); u.sendto(query, (server, 53))
    print(len(u.recv(600)))
    u = socket.socket(family, socket.SOCK_DGRAM); u.settimeout(20); u.connect((server, 443)); u.send(b"quic")
    try: print(u.recv(1))
    except OSError as e: print(type(e).__name__)`);
    assert.deepEqual(written.split("\n"), [
      "198.18.0.7",
      "45",
      "ConnectionRefusedError",
      "45",
      "ConnectionRefusedError",
    ]);
    assert.ok(proxy.queries.every((query) => query.includes("example")));
    proxy.onQuery = () => null;
  });

  test("a connection that the proxy refuses, resets or ends is reset or ended for the program", async () => {
    proxy.onStream = (one) => {
      if (one.port === 1) one.socket.end(Buffer.of(1));
      if (one.port === 2) one.socket.end();
      if (one.port === 3) one.socket.destroy();
      if (one.port === 4) one.socket.end(Buffer.from("\0bye"));
      if (one.port === 5) {
        one.socket.write(Buffer.of(0));
        one.socket.once("data", () => proxy.reset(one));
      }
    };
    const written = await inSandbox("for port in (1, 2, 3, 4, 5): print(connect('198.18.0.7', port))");
    const lost = "ConnectionResetError";
    assert.deepEqual(written.split("\n"), [lost, lost, lost, "bye", lost]);
    proxy.onStream = echo;
  });

  test("bytes of both directions arrive whole and in order, and half-closed connections go on", async () => {
    const written = await inSandbox(`
import hashlib, threading
s = socket.create_connection(("198.18.0.7", 443), 20)
sent, got, total = hashlib.sha256(), hashlib.sha256(), 0
def send():
    for i in range(512):
        block = bytes([i % 251]) * 65537
        sent.update(block); s.sendall(block)
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=send); t.start()
while True:
    block = s.recv(100000)
    if not block: break
    got.update(block); total += len(block)
t.join()
print(total, sent.digest() == got.digest())`);
    assert.equal(written, `${512 * 65537} True`);
  });

  test("a proxy that does not read holds the program back, with little memory of the sandbox", async () => {
    proxy.onStream = ({ socket }) => {
      socket.pause();
      socket.write(Buffer.of(0));
    };
    const box = await hold(launcher, { network: TOKEN });
    const before = (await box.measure()).memoryBytes;
    const written = await output(
      await box.attach(),
      python(`
import socket
s = socket.create_connection(("198.18.0.7", 443), 20); s.settimeout(1)
total = 0
try:
    while True: total += s.send(bytes(65536))
except OSError: print(total < 4 << 20)`),
    );
    assert.equal(written, "True\n");
    const { memoryBytes } = await box.measure();
    assert.ok(memoryBytes - before < 8 << 20, `${memoryBytes - before} bytes`);
    assert.deepEqual(await box.end(), REMOVED);
    proxy.onStream = echo;
  });

  test(`a sandbox has at most ${MOST_STREAMS} connections, further ones fail at once, and each end makes room for another`, async () => {
    proxy.announced.length = 0;
    const box = await hold(launcher, { network: TOKEN, memoryBytes: 1024 * MiB });
    const written = await output(
      await box.attach(),
      python(`
import socket, time
held = []
def more():
    s = socket.create_connection(("198.18.0.7", 443), 60); s.sendall(b"x"); assert s.recv(1) == b"x"; held.append(s)
try:
    while len(held) < 1000: more()
except OSError as e: print(len(held), e.errno)
for s in held[:10]: s.shutdown(socket.SHUT_WR); assert s.recv(1) == b""; s.close()
del held[:10]
for n in range(2000): # the kernel frees what has ended a moment later
    try: more()
    except OSError: time.sleep(0.01)
    if len(held) == ${MOST_STREAMS}: break
print(len(held))`),
    );
    assert.deepEqual(written.trim().split("\n"), [`${MOST_STREAMS} ${ENOBUFS}`, String(MOST_STREAMS)]);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("when the proxy is killed, nothing opens: connections end, new ones are reset, and another proxy serves them again", async () => {
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    let text = "";
    const running = slot.run(
      execution(
        python(`${CONNECT}
import time
s = socket.create_connection(("198.18.0.7", 443), 20); s.settimeout(60)
print("open", flush=True)
try: print(s.recv(1) or "end", flush=True)
except OSError as e: print(type(e).__name__, flush=True)
print(connect("198.18.0.7", 443), flush=True)
while connect("198.18.0.7", 443) != "hello": time.sleep(0.05)
print("served", flush=True)`),
      ),
      (_, bytes) => {
        text += bytes;
      },
    );
    await eventually("the program is connected", () => text.includes("open\n"));
    await proxy.close();
    await eventually("the program sees the end", () => text.split("\n").length >= 4);
    proxy = Object.assign(new PermissiveProxy(), { directory: proxy.directory });
    await proxy.listen();
    const report = await running;
    assert.match(report.stdout.toString(), /^open\nConnectionResetError\nConnectionResetError\nserved\n$/);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("the relay has no right, another user than the programs, which do not see it, and no descriptor but its own", async () => {
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    const [relay = 0, ...others] = relaysOf(launcher.pid);
    assert.ok(relay > 0 && others.length === 0);
    const status = readFileSync(`/proc/${relay}/status`, "utf8");
    for (const expected of [
      /^CapPrm:\s+0+$/m,
      /^CapEff:\s+0+$/m,
      /^CapBnd:\s+0+$/m,
      /^NoNewPrivs:\s+1$/m,
      /^Seccomp:\s+2$/m,
      /^Groups:\s*$/m,
    ])
      assert.match(status, expected);
    const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
    assert.match(status, new RegExp(`^Gid:(\\s+${uid}){4}$`, "m"));
    assert.ok(uid >= launcher.uidBase);
    const written = await output(
      slot,
      python(`
import os, socket
print(os.getuid())
print(any(open(f"/proc/{p}/comm").read().startswith("assay") for p in os.listdir("/proc") if p.isdigit() and p != "1"))
for pid in (${relay}, 1):
    try: os.kill(pid, 9); print("killed")
    except OSError as e: print(type(e).__name__)
print(os.path.exists("/proc/${relay}"))
print(sum("egress" in line or "@" in line for line in open("/proc/net/unix")))`),
    );
    const [user, seen, signalled, init, listed, names] = written.trim().split("\n");
    assert.notEqual(Number(user), uid);
    assert.deepEqual(
      [seen, signalled, init, listed, names],
      ["False", "ProcessLookupError", "PermissionError", "False", "0"],
    );
    // Its own sockets are neither of the namespace of the machine nor of that of the sandbox, which they would keep.
    const namespaces = [readlinkSync("/proc/self/ns/net"), await output(slot, "readlink -n /proc/self/ns/net")];
    assert.ok(!namespaces.includes(readlinkSync(`/proc/${relay}/ns/net`)));
    // From its working directory, which has the socket of the proxy, no path leads up.
    const inodes = ["", "/..", "/../.."].map((path) => statSync(`/proc/${relay}/cwd${path}`).ino);
    assert.deepEqual(inodes, Array(3).fill(statSync(proxy.directory).ino));
    const descriptors = readdirSync(`/proc/${relay}/fd`).map((fd) => readlinkSync(`/proc/${relay}/fd/${fd}`));
    assert.deepEqual(
      descriptors.map((to) => to.replace(/\d+/, "N")),
      Array(3).fill("socket:[N]"),
    );
    assert.deepEqual(await box.end(), REMOVED);
    assert.deepEqual(relaysOf(launcher.pid), []);
  });

  test("the relay is started again, however it ends, and meanwhile nothing opens", async () => {
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    const relay = () => relaysOf(launcher.pid)[0] ?? 0;
    const ends: readonly (() => void)[] = [
      () => process.kill(relay(), "SIGKILL"),
      () => killAll(launcher),
      () => killAll(launcher),
      () => process.kill(relay(), "SIGKILL"),
    ];
    for (const end of ends) {
      const [first, connections] = [relay(), proxy.announced.length];
      end();
      // The connection waits in the queue of the listener, which the holder has.
      assert.equal((await output(slot, python(`${CONNECT}print(connect("198.18.0.7", 443))`))).trim(), "hello");
      await eventually("there is another relay", () => relay() > 0 && relay() !== first);
      assert.equal(proxy.announced.length, connections + 1);
      assert.match(readFileSync(`/proc/${relay()}/status`, "utf8"), /^Seccomp_filters:\s+[2-9]$/m);
    }
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("two sandboxes have connections of their own, cannot reach each other, and one without a network has none", async () => {
    proxy.announced.length = 0;
    const boxes = await Promise.all([
      hold(launcher, { network: TOKEN }),
      hold(launcher, { network: OTHER_TOKEN }),
      hold(launcher),
    ]);
    // Each listens where the others connect to.
    const program = python(`${CONNECT}
own = socket.socket(); own.bind(("0.0.0.0", 443)); own.listen()
own = socket.socket(socket.AF_UNIX); own.bind("\\0name"); own.listen()
print(connect("198.18.0.7", 443))`);
    const slots = await Promise.all(boxes.map((box) => box.attach()));
    const written = await Promise.all(slots.map(async (slot) => (await output(slot, program)).trim()));
    assert.deepEqual(written, ["hello", "hello", "OSError"]);
    assert.deepEqual(proxy.announced.map(({ token }) => token).sort(), [TOKEN, OTHER_TOKEN].sort());
    assert.equal(boxes[2]?.controls.includes("no_route_out"), false);
    // No path leads to the socket of the proxy.
    for (const slot of slots)
      assert.equal(await output(slot, "find / -name egress.sock 2>/dev/null; ls /tmp; true"), "");
    for (const box of boxes) assert.deepEqual(await box.end(), REMOVED);
  });

  test("programs have no raw sockets, and none that ask the kernel about its network or change it", async () => {
    const written = await inSandbox(`
for family, kind, protocol in ((2, 3, 1), (2, 3, 6), (2, 3, 255), (10, 3, 58), (2, 2, 1), (16, 3, 0), (16, 3, 4), (17, 3, 0x300), (17, 2, 0x300), (38, 5, 0), (40, 1, 0)):
    try: socket.socket(family, kind, protocol); print("made", family, kind, protocol)
    except OSError as e: pass
import fcntl
s = socket.socket()
for request in (0x8913, 0x8914, 0x8916, 0x890b): # SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCADDRT
    try: fcntl.ioctl(s, request, bytes(64)); print("done", request)
    except OSError: pass
print("end")`);
    assert.equal(written, "end");
  });

  test("programs can bind each port of the loopback interface, also those of the relay", async () => {
    const written = await inSandbox(`
for kind, port in ((socket.SOCK_STREAM, 1), (socket.SOCK_STREAM, 53), (socket.SOCK_DGRAM, 53), (socket.SOCK_DGRAM, 1)):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        s = socket.socket(family, kind); s.bind((address, port))
print(connect("127.0.0.1", 2))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(20); u.connect(("127.0.0.1", 54)); u.send(b"x")
try: u.recv(1)
except OSError as e: print(type(e).__name__)`);
    assert.deepEqual(written.split("\n"), ["ConnectionRefusedError", "ConnectionRefusedError"]);
  });

  test("each execution is told the number of its group before its program starts, and no later one has it", async () => {
    proxy.announced.length = proxy.queryGroups.length = 0;
    proxy.onQuery = (query) => answerOf(query, [198, 18, 0, 7]);
    const box = await hold(launcher, { network: TOKEN });
    const [one, two] = await Promise.all([box.attach(), box.attach()]);
    const program = python(`${CONNECT}print(socket.gethostbyname("example.org"), connect("198.18.0.7", 443))`);
    const begun: bigint[] = [];
    const run = async (slot: typeof one) => {
      let id = 0n;
      const known = () => assert.ok(id > 0n, "the program wrote before its number came");
      const report = await slot.run(execution(program), known, (groupId) => {
        id = groupId;
        begun.push(groupId);
      });
      assert.equal(report.stdout.toString(), "198.18.0.7 hello\n", report.stderr.toString());
      return id;
    };
    for (let round = 0; round < 3; round++) {
      const ids = await Promise.all([run(one), run(two)]);
      assert.deepEqual(new Set(proxy.announced.splice(0).map(({ group }) => group)), new Set(ids));
      assert.deepEqual(new Set(proxy.queryGroups.splice(0)), new Set(ids));
    }
    assert.equal(new Set(begun).size, 6);
    // One that fails has a number as well, and a sandbox without a network has none.
    const failed = await one.run(execution(["/nowhere"]), undefined, (id) => begun.push(id));
    assert.equal(failed.failure?.step, "exec");
    assert.equal(begun.length, 7);
    const other = await hold(launcher);
    await (await other.attach()).run(execution("true"), undefined, () => assert.fail("has a number"));
    for (const each of [box, other]) assert.deepEqual(await each.end(), REMOVED);
    proxy.onQuery = () => null;
  });

  test("a connection that the relay accepts after the end of its execution is not taken for one of the next", async () => {
    proxy.announced.length = 0;
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    const [relay = 0] = relaysOf(launcher.pid);
    process.kill(relay, "SIGSTOP");
    const begun: bigint[] = [];
    const run = (port: number) =>
      slot.run(
        execution(python(`import socket\ns = socket.create_connection(("198.18.0.7", ${port}), 20); s.sendall(b"x")`)),
        undefined,
        (id) => begun.push(id),
      );
    for (const port of [1, 2, 3]) assert.equal((await run(port)).exitCode, 0);
    process.kill(relay, "SIGCONT");
    await eventually("the relay accepts them", () => proxy.announced.length === 3);
    for (const { port, group } of proxy.announced)
      assert.ok(group === begun[port - 1] || !begun.includes(group), `${port} is of ${group}, not of ${begun}`);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("a pause stops the relay with everything else, and connections go on after it", async () => {
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    const screen = new Screen();
    let received = 0;
    proxy.onStream = ({ socket }) => {
      socket.write(Buffer.of(0));
      socket.on("data", (bytes) => {
        received += bytes.length;
        socket.write(bytes);
      });
    };
    const running = slot.run(
      execution(
        python(`
import socket
s = socket.create_connection(("198.18.0.7", 443), 60); count = 0
print("open", flush=True)
while True:
    s.sendall(b"x" * 1000); got = 0
    while got < 1000:
        part = s.recv(1000 - got); got += len(part)
        if not part: raise SystemExit(1)
    count += 1
    if count % 100 == 0: print("more", flush=True)`),
      ),
      screen.add,
    );
    await screen.until("open");
    for (let round = 0; round < 3; round++) {
      await screen.until("more");
      await box.pause();
      const stopped = received;
      await new Promise((resolve) => setTimeout(resolve, 100));
      const later = received;
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.ok(later - stopped < 200_000, "what was under way");
      assert.equal(received, later);
      // A relay that is killed meanwhile is back after the pause.
      if (round === 1) process.kill(relaysOf(launcher.pid)[0] ?? 0, "SIGKILL");
      if (round === 1) break;
      await box.resume();
    }
    await box.resume();
    assert.equal((await running).exitCode, 1); // the connection ended with the relay
    proxy.onStream = echo;
    assert.equal((await output(slot, python(`${CONNECT}print(connect("198.18.0.7", 443))`))).trim(), "hello");
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("another client takes over a sandbox with its network, and the connections of what it has left go on", async () => {
    const first = await hold(launcher, { network: TOKEN });
    first.keep();
    const program = `
import socket, sys, time
s = socket.create_connection(("198.18.0.7", 443), 60)
open("/home/user/open", "w").close()
n = 0
while True:
    s.sendall(b"x"); assert s.recv(1) == b"x"; n += 1; open("/home/user/count", "w").write(str(n)); time.sleep(0.01)`;
    const command = `/usr/bin/python3 -c '${program}' >/dev/null 2>&1 & while ! [ -e open ]; do sleep 0.1; done`;
    const slot = await first.attach();
    assert.equal((await slot.run(execution(command, { leaveProcesses: true }))).exitCode, 0);
    first.leave();
    const second = await rejoin(launcher, first.token, { network: TOKEN });
    assert.ok(second.controls.includes("no_route_out"));
    assert.deepEqual(second.controlsMissing, []);
    await second.resume();
    const other = await second.attach();
    let begun = 0n;
    const report = await other.run(
      execution(
        'a=$(cat count); for n in $(seq 600); do b=$(cat count); [ "$b" != "$a" ] && exit 0; sleep 0.1; done; exit 1',
      ),
      undefined,
      (id) => {
        begun = id;
      },
    );
    assert.equal(report.exitCode, 0, "the connection does not go on");
    assert.ok(begun > 0n);
    assert.deepEqual(await second.end(), REMOVED);
  });

  test(`an idle network costs at most ${IDLE_BYTES} bytes of memory`, async (t) => {
    // That of sandboxes, and that of holders, which is a group of its own only on a machine with nothing but cgroup v2.
    const groups = [`assay-${launcher.instance}`, `assay-${launcher.instance}.launcher`].filter((name) =>
      groupsOf(launcher).some((path) => path.endsWith(`/${name}`) && exists(join(path, "memory.stat"))),
    );
    const charged = () => groups.reduce((sum, name) => sum + chargedTo(launcher, name), 0);
    const cost = async (network: string | null) => {
      await eventually("earlier holders are gone", () => !groupsOf(launcher).some((path) => /\/h\d+$/.test(path)));
      const before = charged();
      const box = await hold(launcher, { network });
      const after = charged();
      assert.deepEqual(await box.end(), REMOVED);
      return after - before;
    };
    const more: number[] = [];
    for (let round = 0; round < 7; round++) more.push(-(await cost(null)) + (await cost(TOKEN)));
    const [median = 0] = more.toSorted((a, b) => a - b).slice(3);
    t.diagnostic(`${median} bytes: ${more.join(" ")}`);
    assert.ok(median > 0 && median <= IDLE_BYTES, more.join(" "));
  });

  test("when a connection has ended, its buffers are free again", async () => {
    const box = await hold(launcher, { network: TOKEN });
    const slot = await box.attach();
    const before = chargedTo(launcher, "relay");
    let most = 0;
    const running = slot.run(
      execution(
        python(`
import socket
held = [socket.create_connection(("198.18.0.7", 443), 60) for n in range(32)]
for s in held: s.sendall(b"x" * 65536)
for s in held:
    got = 0
    while got < 65536: got += len(s.recv(65536))
input()`),
        { live: true },
      ),
    );
    await eventually("buffers are in use", () => {
      most = chargedTo(launcher, "relay");
      return most > before + 32 * 65536;
    });
    await slot.input(Buffer.from("\n"));
    assert.equal((await running).exitCode, 0);
    await eventually("they are free", () => chargedTo(launcher, "relay") < before + 16 * 65536);
    assert.deepEqual(await box.end(), REMOVED);
  });
});

test("the relay connects by the group of the directory, so that no other user of the machine needs access to the proxy", async () => {
  const gid = 1_987_654_321;
  const proxy = new PermissiveProxy();
  await proxy.listen(gid);
  const launcher = await startLauncher({ slots: 1, sandboxes: 1, egress: proxy.directory });
  const box = await hold(launcher, { network: TOKEN });
  const status = readFileSync(`/proc/${relaysOf(launcher.pid)[0]}/status`, "utf8");
  assert.match(status, new RegExp(`^Gid:(\\s+${gid}){4}$`, "m"));
  assert.equal(
    (await output(await box.attach(), python(`${CONNECT}print(connect("198.18.0.7", 443))`))).trim(),
    "hello",
  );
  assert.deepEqual(await box.end(), REMOVED);
  assert.equal(await launcher.stop(), 0);
  await proxy.close();
  proxy.remove();
});

test("a launcher without a proxy refuses a sandbox with a network", async () => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 1 });
  await assert.rejects(hold(launcher, { network: TOKEN }), /network/);
  assert.equal(await launcher.stop(), 0);
});

/** Kills all processes of the only sandbox of a launcher but its init, as the holder does when they have too many locks. */
function killAll(launcher: Launcher): void {
  const groups = groupsOf(launcher).filter((path) => path.endsWith("/h0"));
  const group = groups.find((path) => exists(join(path, "cgroup.kill"))) ?? "";
  writeFileSync(join(group, "cgroup.kill"), "1");
}

/** The memory of processes and of the kernel that is charged to the only group of a launcher with this name, and to those below it. */
function chargedTo(launcher: Launcher, name: string): number {
  const group = groupsOf(launcher).find((path) => path.endsWith(`/${name}`) && exists(join(path, "memory.stat"))) ?? "";
  const stat = read(join(group, "memory.stat"));
  const field = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1]);
  const bytes = stat.includes("total_rss")
    ? field("total_rss") + Number(read(join(group, "memory.kmem.usage_in_bytes")))
    : field("anon") + field("kernel") + field("sock");
  assert.ok(bytes >= 0, `${group} cannot be read`);
  return bytes;
}

/** The relays of a launcher: children of its holders. */
function relaysOf(launcher: number): number[] {
  const childrenOf = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
    } catch {
      return []; // it has ended
    }
  };
  const isRelay = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, "utf8") === "assay-relay\n";
    } catch {
      return false;
    }
  };
  return childrenOf(launcher).flatMap(childrenOf).filter(isRelay);
}
