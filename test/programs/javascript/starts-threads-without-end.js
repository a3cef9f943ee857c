const { Worker } = require("node:worker_threads");

function start() {
  new Worker("setTimeout(() => {}, 600_000)", { eval: true });
  setTimeout(start, 1);
}

start();
