import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/**
 * The checks that run before tests: format and lint, types, imports, and unused code. Each tool runs with the Node that
 * runs this file.
 */
const CHECKS: readonly { name: string; tool: string; args: readonly string[]; remedy: string }[] = [
  {
    name: "format and lint",
    tool: "@biomejs/biome/bin/biome",
    args: ["ci", "--error-on-warnings", "--colors=off", "."],
    remedy: "node_modules/.bin/biome check --write .",
  },
  {
    name: "types",
    tool: "typescript/bin/tsc",
    args: ["--project", "tsconfig.json"],
    remedy: "see the lines above",
  },
  {
    name: "types of the dashboard",
    tool: "typescript/bin/tsc",
    args: ["--project", "dashboard/tsconfig.json"],
    remedy: "see the lines above",
  },
  {
    name: "types of the client",
    tool: "typescript/bin/tsc",
    args: ["--project", "client/typescript"],
    remedy: "see the lines above",
  },
  {
    name: "types of the client's command",
    tool: "typescript/bin/tsc",
    args: ["--project", "client/typescript/tsconfig.mcp.json"],
    remedy: "see the lines above",
  },
  {
    name: "imports",
    tool: "dependency-cruiser/bin/dependency-cruiser.mjs",
    // Without test/, because the parser does not support `using` yet, and the rules are about src/.
    args: [
      "--config",
      ".dependency-cruiser.js",
      "--output-type",
      "err-long",
      "src",
      "dashboard",
      "client/typescript/src",
    ],
    remedy: "each broken rule has a remedy",
  },
  {
    name: "unused code",
    tool: "knip/bin/knip.js",
    args: ["--no-progress"],
    remedy: "remove the listed code, or use it",
  },
];

const root = new URL("..", import.meta.url);
let failed = 0;

for (const { name, tool, args, remedy } of CHECKS) {
  const script = new URL(`node_modules/${tool}`, root);
  if (!existsSync(script)) throw new Error(`${tool} is not installed: run npm ci --ignore-scripts`);
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [script.pathname, ...args], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 << 20,
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status === 0) {
    console.log(`ok    ${name} (${seconds} s)`);
    continue;
  }
  failed++;
  console.log(`${stdout}${stderr}FAIL  ${name} (${seconds} s): ${remedy}`);
}
process.exitCode = failed === 0 ? 0 : 1;
