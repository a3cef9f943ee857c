// Answers questions about the machine for which Node needs files or sockets that a box does not have: /proc/stat, /proc/cpuinfo and
// netlink. Without it, os.cpus() is empty, so that pools have no worker, and os.networkInterfaces() throws. The answers are those
// of an ordinary machine without a network, and tell nothing about the host: CPU times are those of the process.
"use strict";

const os = require("node:os");

os.cpus = function cpus() {
  const count = os.availableParallelism();
  const { user, system } = process.cpuUsage();
  const each = (usec) => Math.round(usec / 1_000 / count);
  const idle = Math.max(0, Math.round(process.uptime() * 1_000) - each(user + system));
  const times = () => ({ user: each(user), nice: 0, sys: each(system), idle, irq: 0 });
  return Array.from({ length: count }, () => ({ model: "unknown", speed: 0, times: times() }));
};

os.networkInterfaces = function networkInterfaces() {
  const lo = { mac: "00:00:00:00:00:00", internal: true };
  return {
    lo: [
      { address: "127.0.0.1", netmask: "255.0.0.0", family: "IPv4", ...lo, cidr: "127.0.0.1/8" },
      {
        address: "::1",
        netmask: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        family: "IPv6",
        ...lo,
        cidr: "::1/128",
        scopeid: 0,
      },
    ],
  };
};

// For `import { cpus } from "node:os"`.
require("node:module").syncBuiltinESMExports();
