import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";

/** Runs `clean_env`. @returns the arguments of its runner and the environment of the command. */
function cleaned(names: string, words: readonly string[], env: Record<string, string>) {
  const script = `checkout=$1 data=/data; . "$1/setup/step.sh"; shift
    show() { printf '%s\\0' "$@" >&2; exec "$@"; }
    (clean_env show "$@")`;
  const shell = ["-euc", script, "sh", resolve(import.meta.dirname, "../../.."), names, ...words];
  const { status, stdout, stderr } = spawnSync("sh", shell, { env, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const settings = stdout.split("\0").slice(0, -1);
  const pairs = settings.map((setting) => [setting.slice(0, setting.indexOf("=")), setting.replace(/^[^=]*=/, "")]);
  return { args: stderr, environment: Object.fromEntries(pairs) };
}

const PATH = process.env.PATH ?? "";

test("kept values reach the command but no argument of a process", () => {
  const url = "postgres://assay:secret@db.example/assay?x='$y\n z";
  const { args, environment } = cleaned("ASSAY_DATABASE\n NONE EMPTY", ["MODE=secret", "env", "-0"], {
    ...{ PATH, ASSAY_DATABASE: url, EMPTY: "", NODE_OPTIONS: "secret" },
  });
  assert.doesNotMatch(args, /secret/);
  assert.deepEqual(environment, { PATH, LANG: "C.UTF-8", TMPDIR: "/data/tmp", ASSAY_DATABASE: url, MODE: "secret" });
});

test("no other variable is passed on, regardless of its name", () => {
  const ours = ["data", "name", "value", "kept", "runner", "checkout"];
  const shells = ["IFS", "OPTIND", "PPID", "PWD", "OLDPWD", "PS4", "_", "SHELLOPTS", "LC_ALL", "TMPDIR"];
  const odd = ["BASH_FUNC_x%%", "npm.config", "multi"];
  const all = Object.fromEntries(
    [...ours, ...shells, ...odd].map((name) => [name, name === "OPTIND" ? "3" : "x\nTERM=y"]),
  );
  const { environment } = cleaned("TERM", ["env", "-0"], { ...all, PATH });
  assert.deepEqual(environment, { PATH, LANG: "C.UTF-8", TMPDIR: "/data/tmp" });
});
