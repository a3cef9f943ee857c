// Features of TypeScript in addition to Node's: the compiler and source maps. Prints a line for each attempt.
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";

function report(name: string, attempt: () => unknown): void {
  try {
    console.log(`${name}: ${attempt() ?? "allowed"}`);
  } catch (error) {
    const { code, name: kind } = error as NodeJS.ErrnoException;
    console.log(`${name}: ${code ?? kind}`);
  }
}

report("module of the host", () => createRequire("/usr/lib/node_modules/npm/")("npm"));
report("become root", () => process.setuid?.(0));
report("change the compiler", () => writeFileSync("/opt/assay/typescript/lib/tsc", ""));
report("change the runtime", () => writeFileSync("/usr/local/bin/node", ""));
report("hard link to the runtime", () => linkSync("/usr/local/bin/node", "/box/node"));
report("link to the password file", () => {
  symlinkSync("/etc/shadow", "/box/shadow");
  return readFileSync("/box/shadow", "utf8");
});
report("source map of another file", () => {
  writeFileSync("/box/evil.js", "throw new Error('x');\n//# sourceMappingURL=/etc/shadow\n");
  try {
    createRequire("/box/")("/box/evil.js");
  } catch (error) {
    return String((error as Error).stack).includes("root:") ? "shown" : "not shown";
  }
  return "not thrown";
});
report("left by the compiler", () => existsSync("/tmp/main.a") || existsSync("/tmp/node-compile-cache"));
report("child", () => (execFileSync("/usr/bin/id", ["-u"], { encoding: "utf8" }).trim() === "0" ? "root" : "nobody"));
const server = createServer();
server.on("error", (error: NodeJS.ErrnoException) => console.log(`listen: ${error.code}`));
server.listen(0, "127.0.0.1", () => process.exit((console.log("listen: allowed"), 0)));
