import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

const PIP = { PATH: process.env.PATH, PIP_DISABLE_PIP_VERSION_CHECK: "1", HOME: "/nonexistent" };

/**
 * Installs packages of PyPI into a new directory, removed after the test. @param packages such as `judge0==0.0.8`; options of pip are
 * possible, too. @param module a module that must then exist.
 * @returns null if there is no pip, or if no index answers. @throws after any other failure.
 */
export function installFromPypi(t: TestContext, packages: readonly string[], module: string): string | null {
  const directory = mkdtempSync(join(tmpdir(), "assay-pypi-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const env = { ...PIP, ...settingsOfPip() };
  const pip = (...args: string[]) => spawnSync("python3", ["-m", "pip", ...args], { env, encoding: "utf8" });
  if (pip("--version").status !== 0) return null;
  const installed = pip("install", "--quiet", "--no-cache-dir", "--target", directory, ...packages);
  if (installed.status === 0 && existsSync(join(directory, module))) return directory;
  const isAway =
    /Temporary failure|Connection (refused|reset)|ConnectTimeout|NewConnectionError|unreachable|ProxyError/i;
  if (isAway.test(installed.stderr)) return null;
  throw new Error(`${packages.join(" ")} could not be installed: ${installed.stderr}`);
}

/** The variables by which a machine can name another index or a proxy. */
function settingsOfPip(): Record<string, string> {
  const names = Object.keys(process.env).filter((name) =>
    /^(PIP_|(HTTPS?|NO)_PROXY$|SSL_CERT|REQUESTS_CA)/i.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? ""]));
}

/** What the package gave for each of its features (drive-judge0.py). */
export function useJudge0(
  packages: string,
  { url, key, caPath }: { readonly url: string; readonly key: string; readonly caPath: string },
): Promise<Record<string, never>> {
  const env = {
    PATH: process.env.PATH,
    PYTHONPATH: packages,
    PYTHONDONTWRITEBYTECODE: "1",
    SSL_CERT_FILE: caPath,
    JUDGE0_CE_ENDPOINT: url,
    JUDGE0_CE_AUTH_HEADERS: JSON.stringify({ "X-Auth-Token": key }),
  };
  return new Promise((resolve, reject) => {
    const script = join(import.meta.dirname, "drive-judge0.py");
    const child = execFile("python3", [script], { env, timeout: 240_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}: ${stderr}`));
      else resolve(JSON.parse(stdout));
    });
    child.stdin?.end(JSON.stringify({ url, key }));
  });
}

/** A ZIP archive of these files, made by another program. */
export function zipOf(files: Readonly<Record<string, string>>): Buffer {
  const script =
    "import io,json,sys,zipfile\nb=io.BytesIO()\nz=zipfile.ZipFile(b,'w',zipfile.ZIP_DEFLATED)\n" +
    "for n,c in json.load(sys.stdin).items(): z.writestr(n,c)\nz.close()\nsys.stdout.buffer.write(b.getvalue())";
  return execFileSync("python3", ["-c", script], { input: JSON.stringify(files), maxBuffer: 64 << 20 });
}
