const { fork } = require("child_process");
if (process.argv[2] === "child") {
  process.send([process.argv, process.execArgv]);
} else {
  fork(__filename, ["child"]).on("message", (words) => console.log(words)).on("exit", (code) => console.log(code));
}
