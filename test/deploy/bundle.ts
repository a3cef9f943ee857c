import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../repo/documents.ts";
import type { ComposeService } from "./manifests.ts";
import type { Podman } from "./podman.ts";
import { launcherCapabilities } from "./units.ts";

interface Mount {
  readonly type: string;
  readonly source: string;
  readonly destination: string;
  readonly options: readonly string[];
}

/** How many times longer this kernel takes, as in test/deploy/trial. */
const PATIENCE = "8";

/** One language, whose limits fit a kernel that is slow. */
function patientLanguages(place: string): string {
  const made = join(place, "languages");
  const script = join(ROOT, "test/kernel/patient-languages.ts");
  execFileSync(process.execPath, [script, join(ROOT, "languages"), made, PATIENCE]);
  for (const name of readdirSync(made)) if (name !== "c.json" && name !== "profiles.json") rmSync(join(made, name));
  return made;
}

/**
 * What podman hands to its runtime for the service, for a runtime on another kernel of this machine: there is no engine there, so
 * what this one would mount of its own is left out, volumes are in memory, and there are all capabilities that compose.yaml has.
 */
export function writeBundle(podman: Podman, service: ComposeService, results: string): void {
  const config = podman.configuration(service);
  const root = podman.ok("image", "mount", "assay");
  const app = readlinkSync(join(root, "opt/assay/current/app"));
  const memory = (destination: string, mode: string): Mount => {
    return { type: "tmpfs", source: "memory", destination, options: [`mode=${mode}`] };
  };
  config.root = { path: root, readonly: true };
  config.mounts = [
    ...config.mounts.filter(({ type }: Mount) => type !== "bind"),
    // Open to all, as a cluster gives them.
    memory("/var/lib/assay", "0777"),
    memory("/run/assay", "0755"),
    { type: "bind", source: patientLanguages(results), destination: join(app, "languages"), options: ["bind", "ro"] },
  ];
  for (const kind of Object.keys(config.process.capabilities))
    config.process.capabilities[kind] = launcherCapabilities();
  config.process.env.push("ASSAY_WORKERS=1");
  delete config.process.rlimits;
  delete config.hooks;
  config.linux.cgroupsPath = "/one";
  mkdirSync(join(results, "bundle"));
  writeFileSync(join(results, "bundle/config.json"), JSON.stringify(config));
}
