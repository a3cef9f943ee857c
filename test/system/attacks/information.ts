import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, test } from "node:test";
import { environment, startLauncher } from "../../support/launcher/launcher.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { connected, run, step } from "../launcher/raw.ts";
import { all, attack, linesOf, type Way } from "./probes.ts";

/** One worker, so that every run uses the slot of the run before it. */
const product = useProduct({ workers: 1, parked: true });

attack(
  product,
  { language: "python", program: "information" },
  {
    "nothing of the service is visible": [
      [
        "environment",
        "PATH=/usr/local/bin:/usr/bin:/bin HOME=/box LANG=C.UTF-8 LC_ALL=C.UTF-8 TMPDIR=/tmp ONLINE_JUDGE=true",
      ],
      ["arguments", "/usr/bin/python3 main.py"],
      ["descriptors", "0 1 2"],
      ["session", "True True 0"],
      ["groups", "/"],
    ],
    "/proc is the program's own": [
      ["proc", "self thread-self"],
      ["processes", /^\d+$/],
      ...["meminfo", "cpuinfo", "cmdline", "loadavg", "uptime", "stat", "version", "modules", "partitions", "sys"].map(
        (name): Way => [`proc ${name}`, "absent"],
      ),
      ...all("absent", "proc sysvipc/shm", "proc keys", "proc locks", "proc net/../1/maps"),
      ["kernel stack", "EACCES"],
      ["kernel addresses", "ENOENT"],
      ["physical pages", "0000000000"],
    ],
    "the mount list names no directory, device or disk of the host": [
      ["mount points", "/ /box /dev /dev/shm /proc /tmp"],
      ["mount roots", "/"],
      ["mount sources", "image proc tmpfs"],
      ["mount options of the root", /^ro,nosuid,nodev/],
      ["writable mounts", "/box /dev/shm /tmp"],
      ["mountinfo", /^(?!.*(?:\/var\/|\/home\/|\/dev\/(?!shm)[a-z]+ rw|\/lib\/assay|image\/)).*$/],
      ["size of the root", "65536"],
      ["inodes of the root", "32"],
    ],
    "the host's name, accounts, addresses and logs are unknown; those of the box are its own": [
      ["host name", "assay assay"],
      ["domain", "''"],
      ["kernel version", /./],
      ["accounts", "root nobody user user"],
      ["hosts", "127.0.0.1 localhost 127.0.1.1 assay ::1 localhost"],
      ...all("ENOENT", "resolver", "machine id", "boot id", "terminal"),
      ["time zone", "False /usr/share/zoneinfo/Etc/UTC"],
      ["kernel log", "-1 EPERM"],
      ["login records", "[]"],
      ["owners in the image", "0"],
    ],
    "the network is empty": [
      ["network devices", "lo"],
      ...all("0", "unix sockets", "traffic", "routes", "connections"),
    ],
    "the writable directories contain only the source": [["box", "main.py"], ...all("", "tmp", "shm")],
  },
);

test("readable files contain neither the host's name nor its paths", async () => {
  const everything = [...(await linesOf(product(), "python", "information", "")).values()].join("\n");
  for (const word of [hostname(), environment("ASSAY_TEST_IMAGE"), environment("ASSAY_TEST_DATA")])
    assert.ok(!everything.includes(word), word);
});

describe("the next run does not find what a run leaves", () => {
  const LEAVES = `
import os, socket, sys
for place in ("/box", "/tmp", "/dev/shm"):
    open(place + "/left", "w").write("secret")
    os.mkdir(place + "/.hidden")
os.umask(0)
if os.fork() == 0:
    os.setsid()
    s = socket.socket(socket.AF_UNIX)
    s.bind("\\0left")
    s.listen()
    if os.fork() == 0:
        import time
        time.sleep(600)
    os._exit(0)
os.wait()
print("left")
`;
  const FINDS = `
import json, os, socket
try:
    socket.socket(socket.AF_UNIX).connect("\\0left")
    answer = "reached"
except ConnectionRefusedError:
    answer = "refused"
print(json.dumps({
    "files": [name for place in ("/box", "/tmp", "/dev/shm") for name in os.listdir(place)],
    "socket": answer, "sockets": len(open("/proc/self/net/unix").readlines()) - 1,
    "processes": [name for name in os.listdir("/proc") if name.isdigit()] == [str(os.getpid())],
    "umask": os.umask(0),
}))
`;
  let found: Record<string, unknown>[] | undefined;
  /** Several runs after it, because boxes and users alternate. */
  const finds = async () => {
    if (found) return found;
    const run = async (code: string) => checked(await product().run("python", code)).output.stdout;
    assert.equal(await run(LEAVES), "left\n");
    found = [];
    for (let i = 0; i < 4; i++) found.push(JSON.parse(await run(FINDS)));
    return found;
  };
  const EXPECTED: Readonly<Record<string, [string, unknown]>> = {
    files: ["files in /box, /tmp and /dev/shm", ["main.py"]],
    socket: ["an abstract socket that still listens", "refused"],
    processes: ["a process in the background", true],
    umask: ["a file mode mask", 0o022],
  };
  for (const [key, [what, expected]] of Object.entries(EXPECTED))
    test(what, async () => {
      for (const one of await finds()) assert.deepEqual(one[key], expected);
    });

  test("an abstract socket in a circle of sockets, which exists until the kernel collects it", async (t) => {
    const circle = `
import socket
s = socket.socket(socket.AF_UNIX); s.bind("\\0left"); s.listen()
for _ in range(60):
    a, b = socket.socketpair(socket.AF_UNIX)
    socket.send_fds(a, [b"x"], [s.fileno(), a.fileno(), b.fileno()])
    socket.send_fds(b, [b"x"], [s.fileno(), a.fileno(), b.fileno()])
`;
    const looks = "print(open('/proc/self/net/unix').read().count('@left'))";
    const launcher = await startLauncher({ slots: 1 });
    t.after(() => launcher.stop());
    const raw = await connected(launcher.socket);
    t.after(() => raw.close());
    const python = (code: string) => run(raw, step(["/usr/bin/python3", "-c", code], { OPEN_FILES: 1_024 }));
    let found = "";
    for (let i = 0; i < 15; i++) {
      const { stderr } = await python(circle);
      assert.equal(stderr, "");
      // The two networks of a slot alternate.
      for (let turn = 0; turn < 2; turn++) found += (await python(looks)).stdout.trim();
    }
    assert.equal(found, "0".repeat(30));
  });
});
