import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { languagesOf } from "../../support/languages/directory.ts";
import { environment } from "../../support/launcher/launcher.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { all, attack, linesOf } from "./probes.ts";

const product = useProduct({ workers: 2, parked: true });

/** A file of the host that all users can read; a box must not even see that it exists. */
const secret = join(environment("ASSAY_TEST_DATA"), "readable-by-all");
before(() => writeFileSync(secret, "a secret of the host\n", { mode: 0o644 }));

attack(
  product,
  { language: "c", program: "host-files", stdin: () => `${secret}\n` },
  {
    "no path leads to a file of the host": [
      ...all("ENOENT", "path", "dots", "dots from the work directory", "root of self", "dots above the root of self"),
      ...all("ENOENT", "root of pid 1", "root of a thread", "work directory of self", "descriptor of the root"),
      ...all("ENOENT", "symbolic link", "hard link to the file", "link with flags", "64 times up"),
      ["openat2 with dots", "ENOSYS"],
      ["executing the file", "ENOENT"],
      ["directory of the executable", "ENOTDIR"],
    ],
    "usual places of secrets are empty": [
      ["places", ""],
      ["run", ""],
      ["dev", "fd full null random shm stderr stdin stdout urandom zero"],
    ],
    "the shared image cannot be changed": [
      ...all(/^(EROFS|EACCES)$/, "write into the image", "truncate in the image"),
      ...all(/^(EROFS|EACCES)$/, "write into the accounts", "truncate the accounts"),
      ...all(/^(EROFS|EXDEV|ENOENT)$/, "remove the accounts", "replace the accounts"),
      ...all("EROFS", "create in the image"),
      ...all("EROFS", "unnamed file in the image", "directory in the root", "remove from the image"),
      ...all("EROFS", "rename in the image", "mode in the image", "times in the image"),
      ["attribute in the image", "EOPNOTSUPP"],
      ...all("EROFS", "replace a device", "create in dev", "write into proc"),
      ["hard link out of the image", "EXDEV"],
      // The executable belongs to the compile step's user.
      ["write to its own executable", "EACCES"],
    ],
    "a program has three descriptors, and its input is read-only": [
      ["descriptors", "0 1 2"],
      ["output", "pipe"],
      ...all("EPERM", "write to its input", "truncate its input"),
    ],
  },
);

describe("in every language", () => {
  let connections = 0;
  const listener = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  before(() => new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve)));
  after(() => listener.close());
  for (const language of languagesOf("attacks/looks-outside")) {
    let running: Promise<Map<string, string>> | undefined;
    const results = () => {
      const { port } = listener.address() as { port: number };
      running ??= linesOf(product(), language, "looks-outside", `${secret}\n${port}\n`);
      return running;
    };
    test(`${language}: a file of the host cannot be opened`, async () => {
      assert.equal((await results()).get("file"), "cannot");
    });
    test(`${language}: a service on the host's loopback cannot be reached`, async () => {
      assert.equal((await results()).get("tcp"), "cannot");
      assert.equal(connections, 0);
    });
    test(`${language}: the image cannot be written to`, async () => {
      assert.equal((await results()).get("image"), "cannot");
    });
    test(`${language}: only its own process is visible`, async () => {
      assert.equal((await results()).get("processes"), "1");
    });
    test(`${language}: the environment has only the six fixed variables and those of its language file`, async () => {
      const expected = [
        "HOME",
        "LANG",
        "LC_ALL",
        "ONLINE_JUDGE",
        "PATH",
        "TMPDIR",
        ...(language === "go" ? ["GOMAXPROCS"] : []),
      ];
      assert.deepEqual((await results()).get("environment")?.split(" ").toSorted(), expected.toSorted());
    });
  }
});

describe("boxes that run at the same time", () => {
  const python = (code: string) => product().run("python", code).then(checked);

  test("no file can be locked: the image, devices and event files have inodes that others use", async () => {
    const { output } = await python(`
import errno, fcntl, os, select
for file in (open("/etc/passwd"), open("/dev/null"), open("/proc/self/ns/user"), open("/box/own", "w+"), select.epoll(), os.eventfd(0)):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB); print("answered")
    except OSError as error:
        print(errno.errorcode[error.errno])
with open("/box/own") as again:
    fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("answered again: no lock")
`);
    assert.equal(output.stdout, `${"answered\n".repeat(6)}answered again: no lock\n`, output.stderr);
  });

  test("abstract sockets of another box or of the host cannot be reached", async () => {
    const name = `assay-test-${process.pid}`;
    const host = createServer().listen(`\0${name}-host`);
    const serving = python(`
import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("\\0${name}"); s.listen()
s.settimeout(1.5)
try:
    s.accept(); print("reached")
except TimeoutError:
    print("alone")
`);
    const asking = python(`
import errno, socket, time
for _ in range(10):
    for name in ("${name}", "${name}-host"):
        try:
            socket.socket(socket.AF_UNIX).connect("\\0" + name); print("reached")
        except OSError as e:
            print(errno.errorcode[e.errno])
    time.sleep(0.1)
`);
    assert.equal((await serving).output.stdout, "alone\n");
    assert.equal((await asking).output.stdout, "ECONNREFUSED\n".repeat(20));
    host.close();
  });

  test("two boxes have different users, so neither can signal or read the other", async () => {
    const code = "import os, time\nprint(os.getuid())\ntime.sleep(0.5)\n";
    const [one, two] = await Promise.all([python(code), python(code)]);
    assert.notEqual(one.output.stdout, two.output.stdout);
  });
});
