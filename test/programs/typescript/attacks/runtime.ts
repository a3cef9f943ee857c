// What a TypeScript program has besides its types: the same Node, with source maps switched on. One line for each.
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";

function say(name: string, attempt: () => unknown): void {
  try {
    console.log(`${name}: ${attempt() ?? "allowed"}`);
  } catch (error) {
    const { code, name: kind } = error as NodeJS.ErrnoException;
    console.log(`${name}: ${code ?? kind}`);
  }
}

say("module of the host", () => createRequire("/usr/lib/node_modules/npm/")("npm"));
say("become root", () => process.setuid?.(0));
say("change the compiler", () => writeFileSync("/opt/assay/typescript/lib/tsc", ""));
say("change the runtime", () => writeFileSync("/usr/local/bin/node", ""));
say("hard link to the runtime", () => linkSync("/usr/local/bin/node", "/box/node"));
say("link to the password file", () => {
  symlinkSync("/etc/shadow", "/box/shadow");
  return readFileSync("/box/shadow", "utf8");
});
say("source map of another file", () => {
  writeFileSync("/box/evil.js", "throw new Error('x');\n//# sourceMappingURL=/etc/shadow\n");
  try {
    createRequire("/box/")("/box/evil.js");
  } catch (error) {
    return String((error as Error).stack).includes("root:") ? "shown" : "not shown";
  }
  return "not thrown";
});
say("left by the compiler", () => existsSync("/tmp/main.a") || existsSync("/tmp/node-compile-cache"));
say("child", () => (execFileSync("/usr/bin/id", ["-u"], { encoding: "utf8" }).trim() === "0" ? "root" : "nobody"));
const server = createServer();
server.on("error", (error: NodeJS.ErrnoException) => console.log(`listen: ${error.code}`));
server.listen(0, "127.0.0.1", () => process.exit((console.log("listen: allowed"), 0)));
