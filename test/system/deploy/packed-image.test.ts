import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { environment } from "../../support/launcher/launcher.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { PATH, release } from "./release.ts";

const NOBODY = 65_534;

/**
 * An unpacked release of this checkout that has a small root file system of boxes. Only its tree matters here, and packing the real one takes
 * minutes.
 */
function smallRelease(t: TestContext): string {
  const place = mkdtempSync(join(environment("ASSAY_TEST_DIRECTORY"), "assay-packed-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  chmodSync(place, 0o755);
  const { place: made, tarball } = release();
  execFileSync("tar", ["-C", place, "--exclude=*/release/image.tar.gz", "-xf", join(made, tarball)]);
  const tree = join(place, readdirSync(place)[0] ?? "");
  const image = join(place, "image");
  mkdirSync(join(image, "rootfs/usr/bin"), { recursive: true });
  mkdirSync(join(image, "manager"));
  writeFileSync(join(image, "rootfs/usr/bin/tool"), "a program", { mode: 0o755 });
  // A directory that its owner cannot write to.
  chmodSync(join(image, "rootfs/usr/bin"), 0o555);
  writeFileSync(join(image, "versions.json"), "{}");
  const files = ["rootfs", "manager", "versions.json"];
  execFileSync("tar", ["-C", image, "-czf", join(tree, "release/image.tar.gz"), ...files]);
  return tree;
}

/** Packs the release as this user, with this umask and in this locale. @returns the archive. */
function packed(tree: string, uid: number, umask: string, locale: string): Buffer {
  const directory = mkdtempSync(join(environment("ASSAY_TEST_DIRECTORY"), "assay-packed-by-"));
  try {
    chownSync(directory, uid, uid);
    chmodSync(directory, 0o755);
    // A user who has a range of user ids, on any machine.
    const script = `
      umask ${umask}
      printf '%s:1000000:65536\\n' ${uid} nobody >"$1/ids"
      for file in subuid subgid; do [ -e /etc/$file ] || : >/etc/$file; mount --bind "$1/ids" /etc/$file; done
      chmod 644 "$1/ids"
      exec setpriv --reuid ${uid} --regid ${uid} --clear-groups -- "$2/deploy/container/pack" "$1"`;
    const env = { PATH, HOME: directory, TMPDIR: directory, LC_ALL: locale, TAR_OPTIONS: "--verbose", GZIP: "-9" };
    execFileSync("unshare", ["--mount", "sh", "-euc", script, "sh", directory, tree], { env, stdio: "pipe" });
    const name = readdirSync(directory).find((file) => file.endsWith(".oci.tar")) ?? "";
    return readFileSync(join(directory, name));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test("root and an ordinary user pack the same image of a container, whose digests are right", {
  skip: SKIPS_LONG,
}, (t) => {
  const tree = smallRelease(t);
  const archive = packed(tree, 0, "022", "C.UTF-8");
  // Neither times nor modes of the unpacked release matter.
  execFileSync("find", [tree, "-exec", "touch", "-h", "-d", "2001-01-01", "{}", "+"]);
  assert.ok(archive.equals(packed(tree, NOBODY, "077", "POSIX")));

  const place = mkdtempSync(join(environment("ASSAY_TEST_DIRECTORY"), "assay-packed-layout-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  execFileSync("tar", ["-C", place, "-xf", "-"], { input: archive });
  const read = (path: string) => readFileSync(join(place, path));
  const json = (path: string) => JSON.parse(read(path).toString());
  const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
  const blob = ({ digest, size }: { digest: string; size: number }) => {
    const bytes = read(digest.replace("sha256:", "blobs/sha256/"));
    assert.deepEqual([`sha256:${sum(bytes)}`, bytes.length], [digest, size]);
    return bytes;
  };
  assert.deepEqual(json("oci-layout"), { imageLayoutVersion: "1.0.0" });
  const [named] = json("index.json").manifests;
  const manifest = JSON.parse(blob(named).toString());
  const config = JSON.parse(blob(manifest.config).toString());
  const layers = manifest.layers.map(blob).map((bytes: Buffer) => gunzipSync(bytes));
  assert.deepEqual(
    config.rootfs.diff_ids,
    layers.map((bytes: Buffer) => `sha256:${sum(bytes)}`),
  );
  assert.equal(readdirSync(join(place, "blobs/sha256")).length, layers.length + 2);
  assert.deepEqual(json("manifest.json"), [
    {
      Config: manifest.config.digest.replace("sha256:", "blobs/sha256/"),
      RepoTags: ["assay:latest"],
      Layers: manifest.layers.map(({ digest }: { digest: string }) => digest.replace("sha256:", "blobs/sha256/")),
    },
  ]);

  // Everything belongs to root, except for the directory of a service without privileges; nothing is set-uid.
  const listed = layers.flatMap((bytes: Buffer) =>
    execFileSync("tar", ["--numeric-owner", "-tvf", "-"], { input: bytes, encoding: "utf8", maxBuffer: 1 << 28 })
      .trim()
      .split("\n"),
  );
  const others = listed.filter((line: string) => !/^\S+ 0\/0 /.test(line));
  assert.equal(others.length, 1, others.join("\n"));
  assert.match(others[0] ?? "", /^drwx------ 10001\/10001 .* \.\/var\/lib\/assay-service\/$/);
  assert.deepEqual(
    listed.filter((line: string) => /^\S*[sS]/.test(line)),
    [],
  );
  assert.ok(listed.some((line: string) => /^-rwxr-xr-x .*\/rootfs\/usr\/bin\/tool$/.test(line)));
});
