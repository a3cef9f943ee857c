// What the kernel keeps for a process, its threads, mappings and descriptors: in the program, its threads, a child and a grandchild.
const fs = require("node:fs");
const { execFileSync } = require("node:child_process");
const { Worker } = require("node:worker_threads");

// Numbers and amounts that differ between two new programs as well, and the stack limit, which lets the program start by itself.
const VARIES = /^(State|Tgid|Ngid|Pid|PPid|NS\w+|Vm\w+|Rss\w+|HugetlbPages|SigQ|\w*voluntary_ctxt_switches|Cpus_allowed(_list)?|Threads):|^Max stack size/;
const PLAIN = "rd wr ex mr mw me sh ms io pf dw sd gd ac nr mt de".split(" ");
const OF_PROCESS = "personality limits oom_score_adj loginuid sessionid cgroup uid_map gid_map mountinfo environ timerslack_ns coredump_filter timers".split(" ");
/** The content of a file, which some kernels do not have. */
function read(path) {
  try {
    return fs.readFileSync(path, "latin1").replace(/^\d+ \d+ \d+:\d+ /gm, "");
  } catch (error) {
    return error.code;
  }
}
const lasting = (text) => text.split("\n").filter((line) => !VARIES.test(line));

function ofThread(task) {
  const fields = read(`${task}/stat`).split(") ").at(-1).split(" ");
  return [...lasting(read(`${task}/status`)), [7, 18, 19, 21, 25, 38, 40, 41].map((number) => fields[number - 3])].join("\n");
}

function ofMappings() {
  const kinds = new Set();
  for (const mapping of read("/proc/self/smaps").split(/^(?=[0-9a-f]+-)/m)) {
    const flags = mapping.match(/^VmFlags: (.*)$/m)[1].split(" ").filter((flag) => flag && !PLAIN.includes(flag));
    if (flags.length > 0) kinds.add(`${flags} ${mapping.match(/\[v\w+\]/) ?? ""}`);
  }
  return [...kinds].sort();
}

function describe() {
  for (const name of OF_PROCESS) console.log(name, lasting(read(`/proc/self/${name}`)));
  console.log(fs.readlinkSync("/proc/self/cwd"), ofMappings());
  const threads = new Set(fs.readdirSync("/proc/self/task").map((id) => ofThread(`/proc/self/task/${id}`)));
  for (const thread of [...threads].sort()) console.log(thread);
  for (const fd of fs.readdirSync("/proc/self/fd").map(Number).sort((a, b) => a - b)) {
    if (!fs.existsSync(`/proc/self/fd/${fd}`)) continue;
    const info = read(`/proc/self/fdinfo/${fd}`);
    const flags = Number.parseInt(info.match(/^flags:\s*(.*)$/m)[1], 8);
    // Standard output of a new Node does not block once a program uses process.stdout (image/freeze/README.md).
    console.log(fs.readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+/g, ""), flags & (fd < 3 ? ~fs.constants.O_NONBLOCK : -1));
  }
}

require("node:crypto").randomBytes(1);
describe();
const child = "cat /proc/self/status /proc/self/limits /proc/self/timerslack_ns /proc/self/personality; ls /proc/self/fd";
console.log(lasting(execFileSync("/bin/sh", ["-c", `${child}; sh -c '${child}'`], { encoding: "latin1" })));
const worker = new Worker(`const { execFileSync } = require("node:child_process");
  const { parentPort } = require("node:worker_threads");
  parentPort.postMessage(execFileSync("/bin/sh", ["-c", "cat /proc/self/status"], { encoding: "latin1" }));`, { eval: true });
worker.on("message", (text) => console.log(lasting(text)));
