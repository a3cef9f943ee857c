import assert from "node:assert/strict";
import { cpus, hostname, userInfo } from "node:os";
import { test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/** One worker, so that runs use the two lanes of its slot in turn, and start from frozen runtimes. */
const product = useProduct({ workers: 1, parked: true });

/**
 * What programs ask about the machine. Each prints lines of a question and an answer; the answers are those of an ordinary machine
 * without a network, and the same in each run.
 */
const FACTS: Readonly<Record<string, { readonly code: string; readonly answers: readonly string[] }>> = {
  c: {
    code: `#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>
int main(void)
{
  struct passwd *user = getpwuid(getuid());
  struct group *group = getgrgid(getgid());
  if (!user || !group) return 1;
  printf("user %s %s %s %s\\n", user->pw_name, group->gr_name, user->pw_dir, user->pw_shell);
  printf("by name %d %d\\n", getpwnam("user")->pw_uid == getuid(), getgrnam("user")->gr_gid == getgid());
  printf("nobody %u\\n", getpwnam("nobody")->pw_uid);
  printf("stranger %d\\n", getpwnam("somebody") != NULL);
  char name[64];
  gethostname(name, sizeof name);
  printf("host %s\\n", name);
  printf("cpus %ld %ld %d\\n", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF), get_nprocs());
  struct hostent *host = gethostbyname(name);
  printf("address %s\\n", host ? inet_ntoa(*(struct in_addr *)host->h_addr_list[0]) : "none");
  struct addrinfo *found, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  printf("localhost %s\\n", getaddrinfo("localhost", "80", &hints, &found)
    ? "none" : inet_ntoa(((struct sockaddr_in *)found->ai_addr)->sin_addr));
  struct ifaddrs *interfaces;
  printf("interfaces %s\\n", getifaddrs(&interfaces) < 0 ? strerrorname_np(errno) : "some");
}
`,
    answers: [
      "user user user /box /bin/sh",
      "by name 1 1",
      "nobody 65534",
      "stranger 0",
      "host assay",
      "cpus 1 1 1",
      "address 127.0.1.1",
      "localhost 127.0.0.1",
      "interfaces EAFNOSUPPORT",
    ],
  },
  cpp: {
    code: `#include <iostream>
#include <thread>
#include <pwd.h>
#include <unistd.h>
int main() { std::cout << "cpus " << std::thread::hardware_concurrency() << "\\nuser " << getpwuid(getuid())->pw_name << "\\n"; }
`,
    answers: ["cpus 1", "user user"],
  },
  go: {
    code: `package main
import ("fmt"; "net"; "os"; "os/user"; "runtime"; "strconv")
func main() {
  me, err := user.Current()
  if err != nil { panic(err) }
  fmt.Println("user", me.Username, me.HomeDir, me.Uid == strconv.Itoa(os.Getuid()))
  group, err := user.LookupGroupId(strconv.Itoa(os.Getgid()))
  if err != nil { panic(err) }
  fmt.Println("group", group.Name)
  named, err := user.Lookup("user")
  fmt.Println("by name", named.HomeDir, err)
  name, err := os.Hostname()
  fmt.Println("host", name, err)
  found, err := net.LookupHost(name)
  fmt.Println("address", found, err)
  found, err = net.LookupHost("localhost")
  fmt.Println("localhost", found, err)
  fmt.Println("cpus", runtime.NumCPU() > 0)
  home, err := os.UserHomeDir()
  fmt.Println("home", home, err)
  _, err = net.Interfaces()
  fmt.Println("interfaces", err)
}
`,
    answers: [
      "user user /box true",
      "group user",
      "by name /box <nil>",
      "host assay <nil>",
      "address [127.0.1.1] <nil>",
      "localhost [127.0.0.1 ::1] <nil>",
      "cpus true",
      "home /box <nil>",
      "interfaces route ip+net: netlinkrib: address family not supported by protocol",
    ],
  },
  java: {
    code: `import java.lang.management.ManagementFactory;
import java.net.*;
import java.nio.file.*;
public class Main {
  public static void main(String[] args) throws Exception {
    System.out.println("user " + System.getProperty("user.name") + " " + System.getProperty("user.home"));
    Path file = Files.writeString(Path.of("file"), "x");
    System.out.println("owner " + Files.getOwner(file));
    Files.setOwner(file, FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName("user"));
    System.out.println("cpus " + (Runtime.getRuntime().availableProcessors() > 0));
    System.out.println("host " + InetAddress.getLocalHost());
    System.out.println("localhost " + InetAddress.getByName("localhost"));
    System.out.println("process " + ManagementFactory.getRuntimeMXBean().getName().split("@")[1]);
    try { System.out.println("interfaces " + NetworkInterface.getNetworkInterfaces()); }
    catch (SocketException e) { System.out.println("interfaces " + e.getMessage()); }
  }
}
`,
    answers: [
      "user user /box",
      "owner user",
      "cpus true",
      "host assay/127.0.1.1",
      "localhost localhost/127.0.0.1",
      "process assay",
      "interfaces No network interfaces configured",
    ],
  },
  javascript: {
    code: `const os = require("node:os");
const { execFileSync } = require("node:child_process");
const { Worker } = require("node:worker_threads");
const facts = \`
  const os = require("node:os");
  const { cpus } = os;
  const times = Object.values(os.cpus()[0].times);
  const all = [cpus().length === os.availableParallelism(), times.length, times.every((ms) => ms >= 0),
    os.userInfo().username, os.userInfo().homedir, os.userInfo().shell, os.hostname(), os.homedir(),
    Object.keys(os.networkInterfaces()).join(), os.networkInterfaces().lo.map((one) => one.cidr).join(),
    os.totalmem() > 0, os.version() !== "", os.uptime() > 0, os.loadavg().length];\`;
eval(facts + 'console.log("main", ...all)');
new Worker(facts + 'require("node:worker_threads").parentPort.postMessage(all)', { eval: true }).once("message", async (all) => {
  console.log("thread", ...all);
  const child = execFileSync("node", ["-e", facts + 'console.log("child", ...all, ...process.execArgv.slice(0, 1))'], { encoding: "utf8" });
  process.stdout.write(child);
  const same = execFileSync(process.execPath, ["-p", "require('os').cpus().length + process.execPath + process.argv[0]"], { encoding: "utf8" });
  console.log("path", same.trim());
  const { cpus, networkInterfaces } = await import("node:os");
  console.log("module", cpus().length, Object.keys(networkInterfaces()).join());
  const { address } = await require("node:dns").promises.lookup(os.hostname());
  console.log("address", address);
});
`,
    answers: [
      "main true 5 true user /box /bin/sh assay /box lo 127.0.0.1/8,::1/128 true true true 3",
      "thread true 5 true user /box /bin/sh assay /box lo 127.0.0.1/8,::1/128 true true true 3",
      "child true 5 true user /box /bin/sh assay /box lo 127.0.0.1/8,::1/128 true true true 3 -e",
      "path 1/usr/local/bin/node/usr/local/bin/node",
      "module 1 lo",
      "address 127.0.1.1",
    ],
  },
  python: {
    code: `import getpass, grp, multiprocessing, os, pathlib, platform, pwd, shutil, socket, subprocess
me = pwd.getpwuid(os.getuid())
print("user", getpass.getuser(), me.pw_dir, me.pw_shell, grp.getgrgid(os.getgid()).gr_name)
print("by name", pwd.getpwnam("user").pw_uid == os.getuid(), grp.getgrnam("user").gr_gid == os.getgid())
print("home", os.path.expanduser("~"), os.path.expanduser("~user"), pathlib.Path.home())
pathlib.Path("file").write_text("x")
print("owner", pathlib.Path("file").owner(), pathlib.Path("file").group())
shutil.chown("file", getpass.getuser(), "user")
print("host", socket.gethostname(), socket.getfqdn(), platform.node(), os.uname().nodename)
print("address", socket.gethostbyname(socket.gethostname()), socket.gethostbyname("localhost"))
print("cpus", os.cpu_count(), multiprocessing.cpu_count(), os.process_cpu_count(), os.sysconf("SC_NPROCESSORS_CONF"))
print("pool", multiprocessing.Pool(os.cpu_count()).map(abs, [-1, 2]))
try: print("interfaces", socket.if_nameindex())
except OSError as error: print("interfaces", error.errno)
for command in ["whoami", "id -un", "id -gn", "groups", "hostname", "nproc", "uname -n", "echo ~user"]:
    print(command, subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout.strip())
`,
    answers: [
      "user user /box /bin/sh user",
      "by name True True",
      "home /box /box /box",
      "owner user user",
      "host assay assay assay assay",
      "address 127.0.1.1 127.0.0.1",
      "cpus 1 1 1 1",
      "pool [1, 2]",
      "interfaces 97",
      "whoami user",
      "id -un user",
      "id -gn user",
      "groups user",
      "hostname assay",
      "nproc 1",
      "uname -n assay",
      "echo ~user /box",
    ],
  },
  rust: {
    code: `use std::net::ToSocketAddrs;
fn main() {
    println!("cpus {}", std::thread::available_parallelism().unwrap());
    let found = |name: &str| (name, 80).to_socket_addrs().unwrap().find(|address| address.is_ipv4()).unwrap();
    println!("address {} {}", found("assay"), found("localhost"));
    for command in ["whoami", "hostname"] {
        let output = std::process::Command::new(command).output().unwrap();
        print!("{command} {}", String::from_utf8(output.stdout).unwrap());
    }
}
`,
    answers: ["cpus 1", "address 127.0.1.1:80 127.0.0.1:80", "whoami user", "hostname assay"],
  },
  typescript: {
    code: `import * as os from "node:os";
const workers = os.cpus().map((_, i) => i);
console.log("cpus", workers.length > 0, os.userInfo().username, Object.keys(os.networkInterfaces()).join());
`,
    answers: ["cpus true user lo"],
  },
};

for (const [language, { code, answers }] of Object.entries(FACTS))
  test(`${language}: a program sees a CPU, a user and a host name, on both lanes`, async () => {
    for (let lane = 0; lane < 2; lane++) {
      const { result, output } = checked(await product().run(language, code, { profile: "agent" }));
      assert.equal(result.verdict, "AC", output.stderr);
      assert.deepEqual(output.stdout.trimEnd().split("\n"), answers);
    }
  });

test("the files with these answers name nothing of the host", async () => {
  const code = `import os
for name in ("passwd", "group", "hosts", "nsswitch.conf"): print(open("/etc/" + name).read())
print(os.listdir("/etc"))
`;
  const { output } = checked(await product().run("python", code));
  const words = output.stdout.split(/[^\w.-]+/);
  for (const word of [hostname(), userInfo().username, cpus()[0]?.model])
    assert.ok(word === "root" || word === undefined || !words.includes(word), word);
  const users = output.stdout.split("\n").filter((line) => /^user:x:\d+:\d+::/.test(line));
  assert.equal(users.length, 2, output.stdout);
  const ids = users.map((line) => Number(line.split(":")[2]));
  assert.equal(Math.abs((ids[0] ?? 0) - (ids[1] ?? 0)), 1);
  assert.ok(ids.every((uid) => uid >= 1_900_000_000));
});
