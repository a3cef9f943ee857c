import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { FileEvent } from "../../../src/domain/sandboxes/files.ts";
import { FileClient } from "../../../src/files/client.ts";
import type { HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { startFileProgram } from "../../support/files/sandbox-program.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { hold, output } from "../../support/launcher/sandbox.ts";

async function* body(...parts: readonly (string | Buffer)[]) {
  for (const part of parts) yield Buffer.from(part);
}
async function all(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

describe("the file program in a sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let files: FileClient;
  const shell = async (command: string) => {
    const slot = await box.attach();
    try {
      return await output(slot, command);
    } finally {
      slot.close();
    }
  };
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 1 });
    box = await hold(launcher);
    files = new FileClient(() => startFileProgram(box));
  });
  after(async () => {
    files.close();
    await box.end();
    assert.equal(await launcher.stop(), 0);
  });

  test("shares files with the programs of the sandbox, which own them", async () => {
    const written = await files.write("a/b/x", body("one ", "two"), { createParents: true, ifNoneMatch: "*" });
    assert.deepEqual(await files.stat("a/b/x"), written);
    assert.equal(await shell("cat /home/user/a/b/x; stat -c ' %U %a' /home/user/a/b/x"), "one two user 644\n");
    await shell("echo three > /home/user/a/b/x");
    await assert.rejects(files.write("a/b/x", body("four"), { ifMatch: written.etag }), { code: "changed" });
    assert.equal((await all((await files.read("a/b/x", null)).body)).toString(), "three\n");
    await files.write("a/b/x", body("five"), { ifMatch: (await files.stat("a/b/x")).etag });
    await files.move("a/b/x", "/tmp/x");
    assert.equal(await shell("cat /tmp/x; ls -A /home/user/a/b"), "five");
  });

  test("has no more rights than they have", async () => {
    for (const path of ["/etc/passwd", "/usr/bin/new", "/opt/assay/files"]) {
      await assert.rejects(files.write(path, body("x"), {}), { code: "permission" });
    }
    await assert.rejects(files.remove("/usr", true), { code: "permission" });
    // A program that its user may not read is not dumpable when it starts, so that nobody can open its pipes in /proc.
    assert.equal(
      await shell("stat -c %a /opt/assay/files; test -r /opt/assay/files || echo unreadable"),
      "711\nunreadable\n",
    );
    await assert.rejects(files.read("/dev/null", null), { code: "notRegular" });
  });

  test("says when the disk is full, and leaves nothing of the file", async () => {
    async function* tooMuch() {
      for (let i = 0; i < 200; i++) yield Buffer.alloc(1 << 20, "x");
    }
    await assert.rejects(files.write("big", tooMuch(), {}), { code: "noSpace" });
    assert.equal(await shell("ls /home/user"), "a\n");
    async function* broken() {
      yield Buffer.alloc(1 << 20);
      throw new Error("the connection is lost");
    }
    await assert.rejects(files.write("big", broken(), {}), { message: "the connection is lost" });
    assert.equal(await shell("ls /home/user"), "a\n");
  });

  test("packs and unpacks directories", async () => {
    await shell("cd; mkdir -p p/q; seq 20000 > p/q/f; ln -s q/f p/l; chmod 700 p/q/f");
    const tar = await all(await files.archive("p"));
    assert.deepEqual(await files.unpack("copy", body(tar)), { files: 2, bytes: 108_894 });
    assert.equal(
      await shell("cd; diff -r p copy && stat -c %a copy/q/f && tar -cf - p | tar -tf - | wc -l"),
      "700\n4\n",
    );
    await files.remove("copy", true);
    await files.remove("p", true);
  });

  test("reports changes that programs make", async () => {
    const over = new AbortController();
    const watched = await files.watch(".", true, over.signal);
    await shell("cd; mkdir w; echo x > w/f; mv w/f w/g; rm -r w");
    const seen: string[] = [];
    for await (const event of watched) {
      seen.push(show(event));
      if (event.type === "removed" && event.path === "/home/user/w") over.abort();
    }
    for (const line of ["created w", "moved w/g from w/f", "removed w/g", "removed w"])
      assert.ok(seen.includes(line), `${line} in ${seen}`);
  });

  test("a program that the sandbox kills or stops fails its request only", async () => {
    // Every process of the user but the shell. The program is not in /proc for others, because it is not dumpable.
    await files.stat(".");
    await shell("kill -KILL -1; true");
    const { code } = await files.stat(".").then(
      () => ({ code: "none" }),
      (error) => error,
    );
    assert.ok(["none", "stopped"].includes(code));
    assert.equal((await files.stat(".")).type, "directory");
    const silent = new FileClient(() => startFileProgram(box), { silenceMs: 300 });
    await silent.stat(".");
    await shell("kill -STOP -1; true");
    await assert.rejects(silent.stat("."), { code: "stopped" });
    assert.equal((await silent.stat(".")).type, "directory");
    silent.close();
  });
});

const below = (path: string) => path.replace("/home/user/", "");
function show(event: FileEvent): string {
  if (event.type === "overflow") return event.type;
  return `${event.type} ${below(event.path)}${event.type === "moved" ? ` from ${below(event.from)}` : ""}`;
}
