import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "../../support/repo/documents.ts";

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const TARBALL = `assay-client-${version}.tgz`;
const WHEEL = `assay_client-${version}-py3-none-any.whl`;
/** Tools write settings into their home. */
const HOME = mkdtempSync(join(tmpdir(), "assay-home-"));
after(() => rmSync(HOME, { recursive: true }));
const ENV = { PATH: process.env.PATH, HOME };

let place = "";
before(() => {
  place = mkdtempSync(join(tmpdir(), "assay-clients-"));
  execFileSync(join(ROOT, "client/pack"), [place], { env: ENV, stdio: "pipe" });
});
after(() => rmSync(place, { recursive: true }));

/** A program that fails to compile, or to pass mypy, unless the type of a verdict is known. */
const TYPED = `import { Assay, type SubmissionEvent, type SubmissionRecord } from "assay-client";
const assay = new Assay({ url: "https://assay.example", key: "k" });
export const run = (): Promise<SubmissionRecord> => assay.submitAndWait({ language: "python", code: "print(1)" });
export const isAccepted = ({ result }: SubmissionRecord): boolean => result.verdict === "AC";
export const textOf = (event: SubmissionEvent): string => (event.type === "stdout" ? event.text : "");
`;
const PYTHON = `from assay_client import Assay
def run(assay: Assay) -> bool:
    record = assay.submit_and_wait({"language": "python", "code": "print(1)"})
    for event in assay.events(record["id"]):
        if event["type"] == "stdout":
            print(event["text"])
    return record["result"]["verdict"] == "AC"
`;

test("both packages have the version of the service, and are the same when they are packed again", () => {
  const again = join(place, "again");
  mkdirSync(again);
  execFileSync(join(ROOT, "client/pack"), [again], { env: ENV, stdio: "pipe" });
  assert.deepEqual(readdirSync(again).sort(), [TARBALL, WHEEL]);
  for (const name of [TARBALL, WHEEL])
    assert.ok(readFileSync(join(again, name)).equals(readFileSync(join(place, name))));
});

test("the tarball installs into an empty project, which compiles and runs with it", () => {
  const project = join(place, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  const npm = ["install", "--offline", "--no-audit", "--no-fund", "--cache", join(place, "npm"), join(place, TARBALL)];
  execFileSync("npm", npm, { cwd: project, env: { ...ENV, NODE_PATH: "/usr/share/nodejs" }, stdio: "pipe" });
  assert.deepEqual(
    readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith(".")),
    ["assay-client"],
  );
  const check = (text: string) => {
    writeFileSync(join(project, "main.ts"), text);
    const strict = ["--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    return spawnSync(process.execPath, [tsc, ...strict, "main.ts"], { cwd: project, encoding: "utf8" });
  };
  const { status, stdout } = check(TYPED);
  assert.equal(status, 0, stdout);
  assert.match(check(TYPED.replace('"AC"', '"A"')).stdout, /TS2367/);
  const code = 'import { Assay, verifyWebhook } from "assay-client"; console.log(typeof Assay, typeof verifyWebhook);';
  const run = ["--input-type=module", "--eval", code];
  assert.equal(execFileSync(process.execPath, run, { cwd: project, encoding: "utf8" }), "function function\n");
  const command = spawnSync(join(project, "node_modules/.bin/assay-mcp"), { env: ENV, encoding: "utf8" });
  assert.deepEqual([command.status, command.stdout], [2, ""]);
  assert.match(command.stderr, /^assay-mcp: set ASSAY_URL and ASSAY_KEY/);
});

test("the wheel installs without a registry, and its types pass mypy", () => {
  const site = join(place, "site");
  const python = "/usr/bin/python3";
  const pip = ["-m", "pip", "install", "--no-index", "--no-cache-dir", "--target", site, join(place, WHEEL)];
  execFileSync(python, pip, { env: ENV, stdio: "pipe" });
  const env = { ...ENV, PYTHONPATH: site };
  const mypy = (text: string, ...more: string[]) => {
    writeFileSync(join(place, "main.py"), text);
    const checked = ["--strict", "--cache-dir=/dev/null", join(place, "main.py"), ...more];
    return spawnSync("mypy", checked, { env: { ...env, MYPYPATH: site }, encoding: "utf8" }).stdout;
  };
  assert.match(mypy(PYTHON, join(site, "assay_client")), /^Success/);
  assert.match(mypy(PYTHON.replace('"AC"', '"A"')), /Non-overlapping equality check/);
  const code = "import assay_client; print(assay_client.__file__)";
  assert.equal(
    execFileSync(python, ["-c", code], { env, encoding: "utf8" }).trim(),
    join(site, "assay_client/__init__.py"),
  );
});
