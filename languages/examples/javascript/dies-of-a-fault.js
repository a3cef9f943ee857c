const { spawnSync } = require("node:child_process");

// The language cannot cause a fault, but native code that it loads can.
const fault = "__attribute__((constructor)) static void fault(void) { *(volatile int *)0 = 0; }";
spawnSync("/usr/bin/gcc", ["-shared", "-o", "fault.node", "-xc", "-"], { input: fault });
process.dlopen({ exports: {} }, "/box/fault.node");
