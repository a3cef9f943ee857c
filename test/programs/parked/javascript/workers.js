const { Worker, isMainThread, workerData } = require("worker_threads");
const { spawnSync } = require("child_process");
const run = (work) => new Promise((resolve) => work.on("exit", resolve));
(async () => {
  if (!isMainThread) return console.log("worker", workerData, process.argv, process.execArgv, require.main === module);
  console.log(await run(new Worker(__filename, { workerData: 1 })));
  console.log(await run(new Worker("require('fs').writeSync(1, String(process.execArgv) + '\\n')", { eval: true })));
  const child = spawnSync(process.execPath, ["-p", "process.execArgv"], { encoding: "utf8" });
  console.log(child.status, child.stdout, child.stderr);
})();
