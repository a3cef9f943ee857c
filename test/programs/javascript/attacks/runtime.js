// Features of Node: bindings, child processes, workers, the inspector. Prints a line for each attempt.
const { spawnSync } = require("node:child_process");
const { Worker } = require("node:worker_threads");
const inspector = require("node:inspector");
const fs = require("node:fs");
const dns = require("node:dns");
const dgram = require("node:dgram");

function report(name, attempt) {
  try {
    const result = attempt();
    console.log(`${name}: ${result ?? "allowed"}`);
  } catch (error) {
    console.log(`${name}: ${error.code ?? error.name}`);
  }
}

report("become root", () => process.setuid(0));
report("root group", () => process.setgroups([0]));
report("raise the priority", () => require("node:os").setPriority(-5));
report("internal file binding", () => {
  process.binding("fs");
  fs.readFileSync("/etc/shadow");
});
report("load a native library", () => process.dlopen({ exports: {} }, "/usr/lib/x86_64-linux-gnu/libc.so.6"));
report("memory of the box's first process", () => fs.openSync("/proc/1/mem", "r+"));
report("child", () => spawnSync("/bin/sh", ["-c", "id -u; ls /proc/self/fd | wc -l"], { encoding: "utf8" }).stdout.split("\n").map((l) => (l === "0" ? "root" : l.length > 3 ? "nobody" : l)).join(" ").trim());
report("switch user", () => String(spawnSync("/bin/true", { uid: 0 }).error?.code ?? "allowed"));
// Without Node's permission model, a worker with eval has the permissions of the program.
const worker = new Worker("const p = require('node:worker_threads').parentPort; try { require('node:fs').writeFileSync('/usr/x', ''); p.postMessage('allowed') } catch (e) { p.postMessage(e.code) }", { eval: true });
worker.on("message", (text) => console.log(`worker writes to the image: ${text}`));
worker.on("exit", () => {
  const socket = dgram.createSocket("udp4");
  socket.on("error", (error) => console.log(`datagrams: ${error.code}`));
  socket.send("x", 53, "127.0.0.1");
  dns.lookup("example.com", (error) => {
    console.log(`names: ${error?.code ?? "resolved"}`);
    dns.resolve4("example.com", (second) => {
      console.log(`names by the resolver: ${second ? "failed" : "resolved"}`);
      try {
        inspector.open(0, "127.0.0.1");
        console.log(`inspector: ${inspector.url() ? "listens" : "does not listen"}`);
      } catch (third) {
        console.log(`inspector: ${third.code ?? third.name}`);
      }
      process.exit(0);
    });
  });
});
