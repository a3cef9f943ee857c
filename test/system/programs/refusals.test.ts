import assert from "node:assert/strict";
import { test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const product = useProduct({ workers: 1 });

/**
 * What programs get from calls that the filter refuses (docs/security.md). Runtimes must fall back; a program that makes the call
 * itself gets the listed error.
 */
const CASES: Readonly<Record<string, readonly [language: string, code: string, stdout: string]>> = {
  "C: each refused call has its documented error": [
    "c",
    `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static void say(const char *what, long result) { printf("%s %s\\n", what, result < 0 ? strerrorname_np(errno) : "done"); fflush(stdout); }
int main(void)
{
  int ends[2], more[2], file = open("file", O_RDWR | O_CREAT, 0644);
  if (pipe(ends) || pipe(more) || write(ends[1], "bytes\\n", 6) != 6 || write(file, "file\\n", 5) != 5) return 1;
  char bytes[8];
  struct iovec part = {bytes, 6};
  struct ifaddrs *interfaces;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  say("splice", splice(ends[0], NULL, 1, NULL, 6, 0));
  say("vmsplice", vmsplice(1, &part, 1, 0));
  say("tee", tee(ends[0], more[1], 6, 0));
  say("readv", readv(ends[0], &part, 1));
  say("getifaddrs", getifaddrs(&interfaces));
  say("socket", socket(AF_INET, SOCK_STREAM, 0));
  say("flock", flock(file, LOCK_EX));
  say("lockf", lockf(file, F_LOCK, 0));
  say("setpriority", setpriority(PRIO_PROCESS, 0, 19));
  say(getpriority(PRIO_PROCESS, 0) == 0 ? "priority 0" : "another priority", 0);
  say("inotify", inotify_init1(0));
  say("shmget", shmget(IPC_PRIVATE, 4096, 0600));
  say("mlockall", mlockall(MCL_CURRENT));
  say("sched_setaffinity", sched_setaffinity(0, sizeof cpus, &cpus));
  say("posix_fadvise", (errno = posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL)) ? -1 : 0);
  say("sendfile", write(1, bytes, (size_t)read(ends[0], bytes, 6)));
  return 0;
}
`,
    "splice EINVAL\nvmsplice ENOSYS\ntee ENOSYS\nreadv ENOSYS\ngetifaddrs EAFNOSUPPORT\nsocket EAFNOSUPPORT\nflock done\n" +
      "lockf done\nsetpriority done\npriority 0 done\ninotify ENOSYS\nshmget ENOSYS\nmlockall EPERM\nsched_setaffinity EPERM\nposix_fadvise EPERM\nbytes\nsendfile done\n",
  ],
  "C++: streams copy a file to the standard output": [
    "cpp",
    `#include <fstream>
#include <iostream>
int main() { std::ofstream("file") << "copied\\n"; std::cout << std::ifstream("file").rdbuf() << std::flush; }
`,
    "copied\n",
  ],
  "Go: io.Copy falls back from splice, of a pipe and of a file": [
    "go",
    `package main
import ("io"; "net"; "os"; "os/exec"; "fmt")
func main() {
  from, to, _ := os.Pipe()
  go func() { io.WriteString(to, "of a pipe\\n"); to.Close() }()
  if _, err := io.Copy(os.Stdout, from); err != nil { panic(err) }
  os.WriteFile("file", []byte("of a file\\n"), 0644)
  file, _ := os.Open("file")
  if _, err := io.Copy(os.Stdout, file); err != nil { panic(err) }
  command := exec.Command("cat", "file")
  command.Stdout = os.Stdout
  if err := command.Run(); err != nil { panic(err) }
  if found, err := net.Interfaces(); err == nil { panic(found) }
  if _, err := net.Dial("tcp", "localhost:80"); err != nil { fmt.Println("refused") }
}
`,
    "of a pipe\nof a file\nof a file\nrefused\n",
  ],
  "Java: channels copy to the standard output, and locks do nothing": [
    "java",
    `import java.io.*;
import java.net.*;
import java.nio.channels.*;
import java.nio.file.*;
public class Main {
  public static void main(String[] args) throws Exception {
    Path file = Files.writeString(Path.of("file"), "copied\\n");
    try (FileChannel from = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE); FileLock lock = from.lock()) {
      FileChannel to = new FileOutputStream(FileDescriptor.out).getChannel();
      from.transferTo(0, 7, to);
      new FileInputStream("file").transferTo(System.out);
      System.out.println(lock.isValid());
    }
    try { new Socket("localhost", 80); } catch (IOException e) { System.out.println("refused"); }
    try { NetworkInterface.getNetworkInterfaces(); } catch (SocketException e) { System.out.println("none"); }
  }
}
`,
    "copied\ncopied\ntrue\nrefused\nnone\n",
  ],
  "JavaScript: streams, pipes and interfaces": [
    "javascript",
    `const { createReadStream, writeFileSync, copyFileSync } = require("node:fs");
const { spawnSync } = require("node:child_process");
writeFileSync("file", "copied\\n");
copyFileSync("file", "other");
console.log(Object.keys(require("node:os").networkInterfaces()).length);
createReadStream("other").on("end", () => {
  spawnSync("cat", ["file"], { stdio: "inherit" });
  require("node:net").connect(80, "127.0.0.1").on("error", ({ code }) => console.log(code));
}).pipe(process.stdout, { end: false });
`,
    "1\ncopied\ncopied\nEAFNOSUPPORT\n",
  ],
  "Python: copies fall back, a direct call raises OSError": [
    "python",
    `import fcntl, os, shutil, socket, subprocess, sys
open("file", "w").write("copied\\n")
shutil.copyfileobj(open("file"), sys.stdout)
sys.stdout.flush()
os.sendfile(1, os.open("file", os.O_RDONLY), 0, 7)
subprocess.run(["cat", "file"], check=True)
sys.stdout.write(subprocess.run("tee other < file", shell=True, capture_output=True, text=True, check=True).stdout)
sys.stdout.flush()
def errno(call, *arguments):
    try: call(*arguments)
    except OSError as error: return error.errno
read, write = os.pipe()
os.write(write, b"x")
print(errno(os.splice, read, 1, 1), errno(socket.socket), errno(fcntl.flock, 1, fcntl.LOCK_EX), errno(fcntl.lockf, open("file", "w"), fcntl.LOCK_EX))
`,
    "copied\ncopied\ncopied\ncopied\n22 97 None None\n",
  ],
  "Rust: io::copy falls back from splice, of a pipe and of a file": [
    "rust",
    `use std::io::{copy, stdout};
use std::process::{Command, Stdio};
fn main() {
    std::fs::write("file", "copied\\n").unwrap();
    copy(&mut std::fs::File::open("file").unwrap(), &mut stdout()).unwrap();
    let mut child = Command::new("cat").arg("file").stdout(Stdio::piped()).spawn().unwrap();
    copy(child.stdout.as_mut().unwrap(), &mut stdout()).unwrap();
    println!("{:?}", std::net::TcpStream::connect("localhost:80").unwrap_err().raw_os_error());
}
`,
    "copied\ncopied\nSome(97)\n",
  ],
  "TypeScript: streams and interfaces": [
    "typescript",
    `import { networkInterfaces } from "node:os";
console.log(networkInterfaces()["lo"]?.[0]?.address);
`,
    "127.0.0.1\n",
  ],
};

for (const [what, [language, code, stdout]] of Object.entries(CASES))
  test(what, async () => {
    const { result, output } = checked(await product().run(language, code, { profile: "agent" }));
    assert.equal(result.verdict, "AC", output.stderr);
    assert.equal(output.stdout, stdout);
  });

/** Each writes without blocking until the pipe is full, or 512 MiB at most, and reports which on its standard error. */
const FLOODS: Readonly<Record<string, readonly [language: string, code: string]>> = {
  "C, by fcntl": ["c", flood("fcntl(1, F_SETFL, O_NONBLOCK)")],
  "C, by ioctl": ["c", flood("ioctl(1, FIONBIO, &(int){1})")],
  "C, by another description of the pipe": ["c", flood('dup2(open("/dev/stdout", O_WRONLY | O_NONBLOCK), 1)')],
  Go: [
    "go",
    `package main
import ("os"; "syscall")
func main() {
  syscall.SetNonblock(1, true)
  block := make([]byte, 1 << 16)
  for i := 0; i < 1 << 13; i++ {
    if _, err := syscall.Write(1, block); err != nil { os.Stderr.WriteString(map[bool]string{true: "full", false: err.Error()}[err == syscall.EAGAIN]); return }
  }
}
`,
  ],
  JavaScript: [
    "javascript",
    `const fs = require("node:fs");
const out = fs.openSync("/dev/stdout", fs.constants.O_WRONLY | fs.constants.O_NONBLOCK), block = Buffer.alloc(1 << 16, "x");
try { for (let i = 0; i < 1 << 13; i++) fs.writeSync(out, block); }
catch ({ code }) { console.error(code === "EAGAIN" ? "full" : code); }
`,
  ],
  Python: [
    "python",
    `import os, sys
os.set_blocking(1, False)
try:
    for i in range(1 << 13): os.write(1, b"x" * (1 << 16))
except BlockingIOError: print("full", file=sys.stderr)
`,
  ],
};

function flood(unblock: string): string {
  return `#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
static char block[1 << 16];
int main(void)
{
  if (${unblock} < 0) return 1;
  for (int i = 0; i < 1 << 13; i++)
    if (write(1, block, sizeof block) < 0) { fputs(errno == EAGAIN ? "full" : "failed", stderr); return 0; }
  return 0;
}
`;
}

for (const profile of ["judge", "agent"])
  for (const [what, [language, code]] of Object.entries(FLOODS))
    test(`O_NONBLOCK on standard output has its effect (${what}, ${profile})`, async () => {
      const { result, output } = checked(await product().run(language, code, { profile }));
      assert.equal(result.verdict, "AC", output.stderr);
      assert.equal(output.stderr.trim(), "full");
    });
