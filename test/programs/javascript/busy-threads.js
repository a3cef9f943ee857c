const { Worker } = require("node:worker_threads");

for (let i = 0; i < 3; i++) new Worker("for (;;);", { eval: true });
setTimeout(() => {
  for (;;);
}, 200);
