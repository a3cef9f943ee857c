// What a program can see of the way in which it was started.
const fs = require("fs");
const os = require("os");
console.log(process.argv, process.argv0, process.execArgv, process.execPath, process.title, process._preload_modules);
console.log(require.main === module, __filename, __dirname, module.id, module.paths, module.parent, module.children.length);
console.log(Object.keys(require.cache), require.resolve.paths("x"), module.constructor._extensions && Object.keys(module.constructor._extensions));
console.log(Object.entries(process.env).sort(), process.cwd(), process.pid, process.ppid, process.umask());
const open = fs.readdirSync("/proc/self/fd").map((fd) => fs.existsSync(`/proc/self/fd/${fd}`) && fs.readlinkSync(`/proc/self/fd/${fd}`));
console.log(open.map((target) => String(target).replace(/\d+/g, "")).sort(), fs.readdirSync("."));
console.log(process.exitCode, process.listenerCount("exit"), process.eventNames(), process.features.inspector, os.availableParallelism());
console.log([process.stdin, process.stdout, process.stderr].map((stream) => [stream.constructor.name, stream.fd, stream.isTTY]));
console.log(new Error("here").stack, typeof globalThis.gc, Object.getOwnPropertyNames(globalThis).length);
console.log(process.env.NODE_OPTIONS, process.allowedNodeEnvironmentFlags.size, JSON.stringify(fs.readFileSync(0, "utf8")));
