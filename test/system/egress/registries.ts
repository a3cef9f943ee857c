import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Served } from "../../support/egress/internet/messages.ts";
import { zipOf } from "../../support/problems/zip.ts";

/*
 * The package registries of the fake internet, with one package each, at the names by which pip and npm know the public ones.
 */

/** The hosts that each registry needs, as docs/sandboxes.md says. */
export const REGISTRY_HOSTS = {
  pypi: ["pypi.org", "files.pythonhosted.org"],
  npm: ["registry.npmjs.org"],
} as const;

/** All files of the registries, by the name of the host and path. */
export function registryFiles(): Readonly<Record<string, Served>> {
  return { ...pypi(), ...npm() };
}

const served = (type: string, body: Buffer | string): Served => ({ type, body: Buffer.from(body).toString("base64") });

/** The "simple" index, as a page for each package that links to its files on another host. */
function pypi(): Record<string, Served> {
  const name = "greeting-1.0-py3-none-any.whl";
  const wheel = zipOf([
    { name: "greeting.py", data: "def main(): print('hello')\n" },
    { name: "greeting-1.0.dist-info/METADATA", data: "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n" },
    {
      name: "greeting-1.0.dist-info/WHEEL",
      data: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    },
    { name: "greeting-1.0.dist-info/RECORD", data: "" },
  ]);
  const hash = createHash("sha256").update(wheel).digest("hex");
  const link = `<a href="https://files.pythonhosted.org/packages/${name}#sha256=${hash}">${name}</a>`;
  return {
    "pypi.org/simple/greeting/": served("text/html", `<!DOCTYPE html><html><body>${link}</body></html>`),
    [`files.pythonhosted.org/packages/${name}`]: served("application/octet-stream", wheel),
  };
}

function npm(): Record<string, Served> {
  const description = { name: "welcome", version: "1.0.0", bin: { welcome: "welcome.js" } };
  const directory = mkdtempSync(join(tmpdir(), "assay-npm-"));
  mkdirSync(join(directory, "package"));
  writeFileSync(join(directory, "package/package.json"), JSON.stringify(description));
  writeFileSync(join(directory, "package/welcome.js"), '#!/usr/bin/env node\nconsole.log("welcome");\n', {
    mode: 0o755,
  });
  execFileSync("tar", ["-czf", "package.tgz", "package"], { cwd: directory });
  const tarball = readFileSync(join(directory, "package.tgz"));
  rmSync(directory, { recursive: true });
  const path = "registry.npmjs.org/welcome/-/welcome-1.0.0.tgz";
  const dist = {
    tarball: `https://${path}`,
    integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
    shasum: createHash("sha1").update(tarball).digest("hex"),
  };
  const versions = { "1.0.0": { ...description, dist } };
  const packument = { name: "welcome", "dist-tags": { latest: "1.0.0" }, versions };
  return {
    "registry.npmjs.org/welcome": served("application/json", JSON.stringify(packument)),
    [path]: served("application/octet-stream", tarball),
  };
}
