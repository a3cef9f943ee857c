import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { connected, run, step } from "./raw.ts";

/** Attacks of programs on the launcher. Each case was possible once, or nearly. */
describe("a program in a box", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ slots: 4, within: ["env", "--ignore-signal=HUP,QUIT,USR1"] });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0);
  });

  const python = async (source: string) => {
    const raw = await connected(launcher.socket);
    const result = await run(raw, step(["/usr/bin/python3", "-c", source]));
    raw.close();
    assert.equal(result.stderr, "");
    return { ...result, lines: result.stdout.trim().split("\n") };
  };

  test("has the default action for each signal, also for those that the launcher ignores since its start", async () => {
    const raw = await connected(launcher.socket);
    const { stdout } = await run(raw, step(["/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]));
    raw.close();
    const none = "0".repeat(16);
    assert.equal(stdout, `SigBlk:\t${none}\nSigIgn:\t${none}\n`);
  });

  test("cannot make the slot the parent of its children, whose zombies would delay the teardown", async () => {
    const { ended, torn, lines } = await python(`
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
made = libc.syscall(number, 0x8000 | 17, 0, 0, 0, 0)
if made == 0: os._exit(0)
print(made, ctypes.get_errno())
`);
    assert.deepEqual(lines, ["-1 1"], "EPERM");
    assert.equal(ended.int("SURVIVORS"), 0);
    assert.deepEqual([torn.int("REAPED"), torn.int("PIDS_LEFT")], [1, 0]);
  });

  test("cannot forge the evidence of an exceeded file-size limit with a parent's death", async () => {
    const { ended, lines } = await python(`
import ctypes, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        print(libc.prctl(1, int(signal.SIGXFSZ), 0, 0, 0), flush=True)
        os.write(w, b"x")
        time.sleep(0.3)
        os._exit(0)
    os.read(r, 1)
    os._exit(0)
os.wait()
time.sleep(0.1)
`);
    assert.deepEqual(lines, ["-1"]);
    assert.equal(ended.int("FSIZE_SIGNALS"), 0);
  });

  test("can still receive any other signal at a parent's death", async () => {
    const { lines } = await python("import ctypes; print(ctypes.CDLL(None).prctl(1, 9, 0, 0, 0))");
    assert.deepEqual(lines, ["0"]);
  });

  test("inherits only three descriptors", async () => {
    const { lines } = await python(`
import os
for fd in range(256):
    try: print(fd, os.readlink("/proc/self/fd/%d" % fd).split(":")[0])
    except OSError: pass
`);
    assert.deepEqual(lines, ["0 /memfd", "1 pipe", "2 pipe"]);
  });

  test("cannot change its standard input, nor signal or see the init of its box", async () => {
    const { lines } = await python(`
import os
def attempt(what):
    try: what(); print("done")
    except OSError as error: print(error.errno)
attempt(lambda: os.pwrite(0, b"x", 0))
attempt(lambda: os.ftruncate(0, 10))
attempt(lambda: os.kill(1, 9))
attempt(lambda: os.readlink("/proc/1/exe"))
print(sorted(name for name in os.listdir("/proc") if name.isdigit()) == [str(os.getpid())], os.getppid())
`);
    assert.deepEqual(lines, ["1", "1", "1", "2", "True 0"]);
  });

  test("does not learn which user of the host logged in, nor the number of the session", async (t) => {
    const login = 'if [ -e /proc/self/loginuid ]; then echo 1000 >/proc/self/loginuid; fi; exec "$@"';
    const logged = await startLauncher({ slots: 1, within: ["sh", "-c", login, "sh"] });
    t.after(() => logged.stop());
    const raw = await connected(logged.socket);
    t.after(() => raw.close());
    const { stdout } = await run(
      raw,
      step(["/bin/sh", "-c", "cat /proc/self/loginuid /proc/self/sessionid 2>/dev/null"]),
    );
    // Without such files, the kernel does not keep logins.
    const none = existsSync("/proc/self/loginuid") ? "4294967295".repeat(2) : "";
    assert.equal(stdout, none);
  });
});
