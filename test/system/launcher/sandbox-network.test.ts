import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { after, before, describe, test } from "node:test";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, python, REMOVED } from "../../support/launcher/sandbox.ts";

const MiB = 1 << 20;
const PAGE = 4096;
const MEMORY = 256 * MiB;
/** As loopback_limit() computes it: a sixteenth of the memory limit, in ends of connections with two buffers of 64 KiB. */
const ENDS = MEMORY / 16 / (128 * 1024);

/** Bytes of buffers of all sockets of the machine, of this protocol. */
const buffered = (protocol: "TCP" | "UDP"): number =>
  PAGE * Number(new RegExp(`^${protocol}: .*mem (\\d+)`, "m").exec(readFileSync("/proc/net/sockstat", "utf8"))?.[1]);

/** Opens connections until it may not, fills each in both directions, and keeps what `kept` says. Prints how many there were. */
const FILL = `
import socket, sys
def fill(s):
  s.setblocking(False)
  try:
    while True: s.send(b'x' * size)
  except (BlockingIOError, ConnectionError): pass
size, kept = int(sys.argv[1]), []
count = 0
try:
  while True:
    if count % 100 == 0:
      server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(128); kept.append(server)
    s = socket.socket(); s.connect(server.getsockname()); count += 1
    fill(s)
    if sys.argv[2] == 'both': a = server.accept()[0]; fill(a); kept.append(a)
    if sys.argv[2] == 'closed': s.close()
    else: kept.append(s)
except OSError as error: print(count, error.errno, flush=True)
input()`;

/**
 * Makes connections until it may not, with one full direction each, and resets them: one that nobody has accepted keeps its data in the queue of the
 * listener, and an accepted one keeps it until it is closed. Prints how many there were.
 */
const RESET = `
import ctypes, socket, struct, sys
libc = ctypes.CDLL(None)
servers = [socket.create_server(('127.0.0.1', 0), backlog=128) for n in range(8)]
kept, count = [], 0
for n in range(1000):
  s = socket.socket()
  try: s.connect(servers[n % 8].getsockname())
  except OSError: s.close(); continue
  if sys.argv[1] == 'accepted': kept.append(servers[n % 8].accept()[0])
  s.setblocking(False)
  try:
    while True: s.send(b'x' * 65536)
  except BlockingIOError: pass
  libc.connect(s.fileno(), struct.pack('H14x', 0), 16)
  s.close(); count += 1
print(count, flush=True)
input()`;

describe("sockets on the loopback interface of a sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let slot: AttachedSlot;
  let other: AttachedSlot;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2 });
    box = await hold(launcher, { memoryBytes: MEMORY });
    slot = await box.attach();
    other = await box.attach();
  });
  after(async () => {
    assert.deepEqual(await box.end(), REMOVED);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  /** A test for kernels on which the number of sockets can be limited. On others, there are none. */
  function limited(name: string, act: () => Promise<void>) {
    test(name, async (t) => {
      if (box.controls.includes("socket_limit")) return await act();
      const refused = python("import socket\ntry: socket.socket()\nexcept OSError as e: print(e.errno)");
      assert.equal(await output(slot, refused), "97\n");
      t.skip("the kernel cannot limit sockets, so there are none");
    });
  }

  /** Runs a program until it has printed a line, calls `look` with the line, and lets the program read a line. */
  async function pausedAt(program: readonly string[], look: (line: string) => void | Promise<void>) {
    let text = "";
    let looked: Promise<void> | undefined;
    const report = await slot.run(execution(program, { live: true }), (stream, bytes) => {
      text += bytes.toString();
      if (stream === "stdout" && text.endsWith("\n") && !looked)
        looked = (async () => {
          try {
            await look(text.trim());
          } finally {
            await slot.input(Buffer.from("\n"));
          }
        })();
    });
    await looked;
    assert.equal(report.exitCode, 0, described(report));
  }

  limited("serve programs of the same sandbox", async () => {
    await output(slot, "echo hello > index.html; python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &", {
      leaveProcesses: true,
    });
    const get = python(`
import time, urllib.request
for attempt in range(600):
  try: print(urllib.request.urlopen('http://localhost:8000/').read().decode(), end=''); break
  except OSError: time.sleep(.05)`);
    assert.equal(await output(other, get), "hello\n");
    const node = `
const { createServer, get } = require("node:http");
const server = createServer((_, response) => response.end("served"));
server.listen(0, () => get({ port: server.address().port, host: "::1" }, (response) => response.pipe(process.stdout).on("error", () => {}) && response.on("end", () => server.close())));`;
    assert.equal(await output(slot, ["/usr/local/bin/node", "-e", node]), "served");
  });

  limited("carry databases of managers, datagrams, and both versions of addresses", async () => {
    const source = `
import socket, multiprocessing.managers as managers
class Manager(managers.BaseManager): pass
Manager.register('length', callable=len)
with Manager(address=('127.0.0.1', 0), authkey=b'k') as m: assert m.length('abc')._getvalue() == 3
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'), (socket.AF_INET, '127.9.9.9')):
  a, b = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
  a.bind((address, 0)); b.sendto(b'datagram', a.getsockname()); assert a.recv(99) == b'datagram'
s = socket.create_server(('127.0.0.1', 80)); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
c = socket.create_connection(('127.0.0.1', 80)); a = s.accept()[0]
open('data', 'wb').write(b'd' * 50000)
with open('data', 'rb') as f: sent = c.sendfile(f)
c.close(); got = 0
while data := a.recv(65536): got += len(data)
print(sent, got)`;
    assert.equal(await output(slot, python(source)), "50000 50000\n");
  });

  limited("reach nothing but the same sandbox", async () => {
    const reached: unknown[] = [];
    const server = createServer((socket) => reached.push(socket.remoteAddress) && socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    const { port } = server.address() as { port: number };
    const own = Object.values(networkInterfaces())
      .flat()
      .flatMap((found) => (found && found.family === "IPv4" && !found.internal ? [found.address] : []));
    const source = `
import socket, errno
def attempt(kind, family, address, *more):
  s = socket.socket(family, kind)
  try:
    if kind == socket.SOCK_DGRAM: s.sendto(b'x', (address, ${port}) + more)
    else: s.settimeout(5); s.connect((address, ${port}) + more)
    return 'reached'
  except OSError as e: return errno.errorcode.get(e.errno, str(e))
for address in ['127.0.0.1', '8.8.8.8', '169.254.169.254', '10.0.0.1', '224.0.0.1', '255.255.255.255', '127.255.255.255', ${own.map((a) => `'${a}'`).join()}]:
  print(address, *[attempt(kind, socket.AF_INET, address) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)])
for address in ['fe80::1', 'ff02::1', '2001:db8::1', '::ffff:8.8.8.8', 'fd00::1']:
  print(address, *[attempt(kind, socket.AF_INET6, address) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)])
s = socket.socket()
for address in ('8.8.8.8', '0.0.0.1'):
  try: s.bind((address, 0)); print('bound', address)
  except OSError: pass`;
    const lines = (await output(slot, python(source))).trim().split("\n");
    server.close();
    const [first, ...rest] = lines;
    assert.equal(first, "127.0.0.1 ECONNREFUSED reached", "a datagram to a port that nobody has is dropped");
    for (const line of rest) assert.doesNotMatch(line, /reached|bound/);
    assert.equal(rest.length, 6 + own.length + 5);
    assert.deepEqual(reached, []);
  });

  limited("are of no other protocol, and have only harmless options", async () => {
    const source = `
import socket, errno
def code(act):
  try: act(); return 'made'
  except OSError as e: return errno.errorcode[e.errno]
S, D, R, Q = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET
for family in (socket.AF_INET, socket.AF_INET6):
  for kind, protocol in ((R, 6), (R, 255), (D, 1), (S, 1), (D, 6), (S, 17), (S, 132), (Q, 132), (Q, 0), (S, 262), (D, 136)):
    assert code(lambda: socket.socket(family, kind, protocol)) in ('EPROTONOSUPPORT', 'ESOCKTNOSUPPORT'), (kind, protocol)
for family in (16, 17, 38, 40, 42, 43, 44): assert code(lambda: socket.socket(family, D, 0)) == 'EAFNOSUPPORT', family
a, b = socket.socket(), socket.socket(socket.AF_INET, D)
for level, option in ((1, 12), (1, 25), (1, 26), (1, 32), (1, 33), (1, 37), (1, 50), (1, 51), (1, 60), (6, 9), (6, 13), (6, 19), (6, 23), (6, 30), (6, 31),
    (0, 1), (0, 4), (0, 35), (0, 36), (17, 1), (17, 100), (17, 103), (41, 6), (41, 20), (41, 54), (41, 57), (255, 1)):
  for s in (a, b): assert code(lambda: s.setsockopt(level, option, b'\\0' * 16)) in ('EPERM', 'ENOPROTOOPT'), (level, option)
c = socket.socket(socket.AF_INET6, D)
b.setsockopt(0, 11, 1); c.setsockopt(41, 25, 1) # the queue of errors, without effect
before = a.getsockopt(1, socket.SO_RCVBUF), a.getsockopt(1, socket.SO_SNDBUF)
a.setsockopt(1, socket.SO_RCVBUF, 1 << 24); a.setsockopt(1, socket.SO_SNDBUF, 1 << 24)
assert before == (a.getsockopt(1, socket.SO_RCVBUF), a.getsockopt(1, socket.SO_SNDBUF)) == (65536, 65536), before
b.bind(('127.0.0.1', 0))
for flag in (0x20000000, 0x4000000): assert code(lambda: b.sendto(b'x', flag, b.getsockname())) == errno.errorcode[95]
print('done')`;
    assert.equal(await output(slot, python(source)), "done\n");
  });

  for (const kind of ["open", "both", "closed"])
    limited(`are limited in number, and hold no more than their buffers (${kind})`, async () => {
      const before = buffered("TCP");
      await pausedAt([...python(FILL), "65536", kind], (line) => {
        assert.equal(line, `${ENDS / 2} 105`);
        const grown = buffered("TCP") - before;
        assert.ok(grown < MEMORY / 16 + 4 * MiB, `${grown} bytes are buffered`);
      });
      await eventually("the buffers are freed", () => buffered("TCP") - before < 4 * MiB);
    });

  for (const kind of ["in the queue", "accepted"])
    limited(`count as long as they hold data after a reset (${kind})`, async () => {
      const before = buffered("TCP");
      await pausedAt([...python(RESET), kind], (line) => {
        assert.equal(Number(line), ENDS - 1);
        const grown = buffered("TCP") - before;
        assert.ok(grown > ENDS * 32 * 1024 && grown < MEMORY / 16 + 4 * MiB, `${grown} bytes are buffered`);
      });
      await eventually("the buffers are freed", () => buffered("TCP") - before < 4 * MiB);
      const all = await slot.run(execution([...python(FILL), "10", "open"], { stdin: Buffer.from("\n") }));
      assert.equal(all.stdout.toString(), `${ENDS / 2} 105\n`, described(all));
    });

  limited("count twice while they wait for a listener", async () => {
    // The queue of the listener is full, so that connections are accepted long after the programs have asked for them.
    const source = `
import socket
server = socket.create_server(('127.0.0.1', 0), backlog=0)
kept, number = [], 0
while number != 105 and len(kept) < 1000:
  s = socket.socket(); s.setblocking(False); number = s.connect_ex(server.getsockname()); kept.append(s)
print(len(kept) - 1, number, flush=True)
server.listen(128)
for n in range(len(kept) - 1): kept.append(server.accept()[0])
for s in kept: s.close()`;
    assert.equal(await output(slot, python(source)), `${ENDS / 2} 105\n`);
    const all = await slot.run(execution([...python(FILL), "10", "open"], { stdin: Buffer.from("\n") }));
    assert.equal(all.stdout.toString(), `${ENDS / 2} 105\n`, described(all));
  });

  limited("of datagrams are limited in number, and hold no more than their buffers", async () => {
    const source = `
import socket, os
kept = []
try:
  while True: kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
except OSError as error: number = error.errno
for s in kept: s.bind(('127.0.0.1', 0)); s.setblocking(False)
for s in kept:
  for i in range(400):
    try: kept[0].sendto(b'x' * (1 if i > 200 else 60000), s.getsockname())
    except BlockingIOError: pass
for s in kept[1:]: s.sendto(b'x' * 60000, socket.MSG_MORE, kept[0].getsockname())
print(len(kept), number, flush=True); input()`;
    const before = buffered("UDP");
    await pausedAt(python(source), (line) => {
      const [count, errno] = line.split(" ").map(Number);
      assert.equal(errno, 105);
      assert.ok(count && count >= 2 && count <= 32, line);
      const grown = buffered("UDP") - before;
      assert.ok(grown < MEMORY / 32 + 4 * MiB, `${grown} bytes are buffered`);
    });
  });

  limited("are counted exactly, however connections end", async () => {
    const source = `
import socket, struct, threading, ctypes
libc = ctypes.CDLL(None)
def disconnect(s): libc.connect(s.fileno(), struct.pack('H14x', 0), 16)
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(128); server.settimeout(5)
def rounds(n, which):
  for i in range(n):
    s = socket.socket()
    try:
      s.connect(server.getsockname())
      a = server.accept()[0]
      if (i + which) % 4 == 0: a.close(); s.close()
      elif (i + which) % 4 == 1: s.setsockopt(1, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close(); a.close()
      elif (i + which) % 4 == 2:
        disconnect(s)
        for port in (1, 2, 3):
          try: s.connect(('127.0.0.1', port))
          except OSError: pass
        try: s.connect(('8.8.8.8', 9))
        except OSError: pass
        s.close(); a.close()
      else: s.send(b'x' * 100); s.shutdown(1); a.send(b'y' * 100); s.close(); a.close()
    except OSError: s.close()
threads = [threading.Thread(target=rounds, args=(200, i)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
for i in range(100): # version 6, with a listener that ends before its connections
  l, s = socket.create_server(('::1', 0), family=socket.AF_INET6), socket.socket(socket.AF_INET6)
  s.connect(l.getsockname()); a = l.accept()[0] if i % 2 else None
  l.close(); s.close()
  if a: a.close()
full = socket.create_server(('127.0.0.1', 0), backlog=0)
for i in range(300): # the queue is full: connections that do not come about
  s = socket.socket(); s.setblocking(False); s.connect_ex(full.getsockname()); s.close()
full.close()
for i in range(50): # to itself: one end
  s = socket.socket(); s.bind(('127.0.0.1', 0))
  try: s.connect(s.getsockname())
  except OSError: pass
  s.close()
server.close()`;
    await output(slot, python(source));
    const report = await slot.run(execution([...python(FILL), "1000", "open"], { stdin: Buffer.from("\n") }));
    assert.equal(report.stdout.toString(), `${ENDS / 2} 105\n`, described(report));
  });

  limited("are limited in number for processes that connect at the same time", async () => {
    const source = `
import os, socket, time
server = socket.create_server(('127.0.0.1', 0), backlog=128)
other = socket.create_server(('127.0.0.1', 0), backlog=128)
r, w = os.pipe(); begin = time.monotonic() + .5
for n in range(40):
  if os.fork() == 0:
    kept = []
    while time.monotonic() < begin: pass
    try:
      while True: s = socket.socket(); s.connect((server if n % 2 else other).getsockname()); kept.append(s)
    except OSError: pass
    os.write(w, bytes([len(kept)])); time.sleep(1); os._exit(0)
counts = b''
while len(counts) < 40: counts += os.read(r, 40)
print(sum(counts))`;
    const connections = Number(await output(slot, python(source)));
    assert.ok(connections >= ENDS / 2 - 4 && connections <= ENDS / 2 + 4, `${connections} connections`);
  });

  limited("are counted for the sandbox also when the execution that has made them has ended", async () => {
    const keep = python(`
import os, socket
server = socket.socket(socket.AF_UNIX); server.bind('\\0keeper'); server.listen(); print('ready', flush=True)
for turn in range(6):
  c = server.accept()[0]; fds = []
  while len(fds) < 60: fds += socket.recv_fds(c, 1, 60)[1]
  c.close()
  if turn % 2: [os.close(fd) for fd in fds]; [os.close(fd) for fd in held]
  held = fds
server.accept()`);
    const give = python(`
import socket
s = socket.socket(socket.AF_UNIX); s.connect('\\0keeper')
l = socket.create_server(('127.0.0.1', 0), backlog=128); made = [l]
for i in range(20): c = socket.create_connection(l.getsockname()); made += [c, l.accept()[0]]
for i in range(19): made.append(socket.socket())
socket.send_fds(s, [b'x'], [m.fileno() for m in made]); s.recv(1)`);
    let given: Promise<void> | undefined;
    const keeping = slot.run(execution(keep, { live: true, limits: { wallMs: 60_000 } }), () => {
      given ??= (async () => {
        for (let turn = 0; turn < 6; turn++) await output(other, give);
        const all = await other.run(execution([...python(FILL), "10", "open"], { stdin: Buffer.from("\n") }));
        assert.equal(all.stdout.toString(), `${ENDS / 2} 105\n`, described(all));
        await output(other, python("import socket; socket.socket(socket.AF_UNIX).connect('\\0keeper')"));
      })();
    });
    await keeping;
    await given;
  });

  limited("belong to one sandbox", async () => {
    const neighbour = await hold(launcher, { memoryBytes: MEMORY });
    const its = await neighbour.attach();
    await output(
      slot,
      `python3 -c "import socket,time; s=socket.create_server(('127.0.0.1',7000)); time.sleep(600)" >/dev/null 2>&1 &`,
      {
        leaveProcesses: true,
      },
    );
    const connect = (attempts: number) =>
      python(`
import socket, time
for attempt in range(${attempts}):
  try: socket.create_connection(('127.0.0.1', 7000), 5); print('connected'); break
  except OSError as e: number = e.errno; time.sleep(.05)
else: print(number)`);
    assert.equal(await output(slot, connect(600)), "connected\n");
    assert.equal(await output(its, connect(1)), "111\n");
    // Nor do they count against the limit of the neighbour.
    const all = await its.run(execution([...python(FILL), "1000", "open"], { stdin: Buffer.from("\n") }));
    assert.equal(all.stdout.toString(), `${ENDS / 2} 105\n`, described(all));
    assert.deepEqual(await neighbour.end(), REMOVED);
  });

  limited("end with the sandbox, also connections that both programs have closed", async () => {
    const neighbour = await hold(launcher, { memoryBytes: MEMORY });
    const its = await neighbour.attach();
    const before = buffered("TCP");
    const report = await its.run(
      execution([...python(FILL), "65536", "closed"], { stdin: Buffer.from("\n"), leaveProcesses: true }),
    );
    assert.equal(report.stdout.toString(), `${ENDS / 2} 105\n`, described(report));
    assert.deepEqual(await neighbour.end(), REMOVED);
    await eventually("the buffers are freed", () => buffered("TCP") - before < 4 * MiB);
  });
});
