// A line for each random number, from each source: in the program, its contexts, worker threads, children and grandchildren.
const crypto = require("node:crypto");
const fs = require("node:fs");
const vm = require("node:vm");
const { execFileSync, fork } = require("node:child_process");
const { Worker, isMainThread, workerData } = require("node:worker_threads");

const SOURCES = {
  "Math.random": () => Math.random(),
  "Math.random of a context": () => vm.runInNewContext("Math.random()"),
  randomBytes: () => crypto.randomBytes(8).toString("hex"),
  randomUUID: () => crypto.randomUUID(),
  "randomUUID without a cache": () => crypto.randomUUID({ disableEntropyCache: true }),
  randomInt: () => crypto.randomInt(2 ** 48 - 1),
  getRandomValues: () => globalThis.crypto.getRandomValues(new Uint32Array(2)).join(),
  "web randomUUID": () => globalThis.crypto.randomUUID(),
  "generated key": () => crypto.generateKeySync("hmac", { length: 64 }).export().toString("hex"),
  "directory": () => fs.mkdtempSync("/tmp/").slice(5),
};
const show = (who) => {
  let lines = "";
  for (const [name, draw] of Object.entries(SOURCES)) lines += `${who} ${name}\t${draw()}\n`;
  fs.writeSync(1, lines);
};
const wait = (what, event) => new Promise((resolve) => what.once(event, resolve));

async function main() {
  if (!isMainThread) return show(workerData);
  if (process.argv[2]) {
    show(process.argv[2]);
    if (process.argv[2] === "child") execFileSync(process.execPath, [__filename, "grandchild"], { stdio: "inherit" });
    return;
  }
  show("program");
  for (const name of ["worker 1", "worker 2"]) await wait(new Worker(__filename, { workerData: name }), "exit");
  for (const name of ["child", "other child"]) await wait(fork(__filename, [name]), "exit");
  show("program again");
}
main();
