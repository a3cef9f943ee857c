// release.ts MODULES IMAGE DASHBOARD SBOM: prints the paths of the packages below MODULES that a release needs, without those
// for development and tests, and writes the contents of the release to SBOM (CycloneDX 1.6): these packages, those that are
// bundled in the dashboard, and the npm and Debian packages of the image. It does not use `npm sbom`, which Debian's npm
// does not have, and which writes a time and a random number, so that no two results would be the same.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
}

const [modules = "", image = "", dashboard = "", sbom = ""] = process.argv.slice(2);
const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
const { name, version } = read("package.json") as { name: string; version: string };
const lock = read("package-lock.json") as { packages: Record<string, Locked> };
const versions = read(join(image, "versions.json")) as { suite: string; architecture: string } & {
  npm: Record<string, string>;
  debian: Record<string, string>;
};

const running = Object.entries(lock.packages).filter(
  ([path, { dev }]) => path !== "" && !dev && existsSync(join(modules, path)), // not for other processors
);

const bundled = (read(join(dashboard, "licenses.json")) as { name: string; version: string }[]).map(
  ({ name, version }) => {
    const found = Object.entries(lock.packages).find(
      ([path, locked]) => path.endsWith(`node_modules/${name}`) && locked.version === version,
    );
    if (!found) throw new Error(`${name} ${version} is in the dashboard, and not in package-lock.json`);
    return found;
  },
);

function npmPackage(name: string, version: string) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { type: "library", "bom-ref": purl, name, version, purl };
}

const components = [
  ...[...running, ...bundled].map(([path, { version, integrity, license }]) => ({
    ...npmPackage(path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length), version),
    ...(license && { licenses: [{ expression: license }] }),
    ...(integrity && {
      hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.slice(7), "base64").toString("hex") }],
    }),
  })),
  ...Object.entries(versions.npm).map(([name, version]) => npmPackage(name, version)),
  ...Object.entries(versions.debian).map(([name, version]) => {
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${versions.architecture}&distro=${versions.suite}`;
    return { type: "library", "bom-ref": purl, name, version, purl };
  }),
];
// A package of both the service and the image is listed once.
const once = [...new Map(components.reverse().map((component) => [component["bom-ref"], component])).values()];
const bom = {
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: { component: { type: "application", "bom-ref": name, name, version } },
  components: once.sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1)),
};
writeFileSync(sbom, `${JSON.stringify(bom, null, 2)}\n`);
// A package nested in another package is included with it.
const paths = running.map(([path]) => path).filter((path) => path.lastIndexOf("node_modules/") === 0);
process.stdout.write(`${paths.sort().join("\n")}\n`);
