import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { ROOT } from "../repo/documents.ts";

/** compose.yaml, with the defaults of its variables; other keys are a type error. */
export interface ComposeService {
  readonly image: string;
  readonly pull_policy?: string;
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly user?: string;
  readonly hostname?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly cgroup?: string;
  readonly pids_limit?: number;
  readonly stop_grace_period?: string;
  readonly restart?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[]; readonly interval: string };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const read = (path: string) => readFileSync(join(ROOT, "deploy", path), "utf8");

/** The configuration of the image of a container, and the script that packs the image. */
export const IMAGE_CONFIG = JSON.parse(read("container/config.json"));
export const IMAGE_PACK = read("container/pack");

/** The environment variables of the image. */
export const IMAGE_ENVIRONMENT: Readonly<Record<string, string>> = Object.fromEntries(
  (IMAGE_CONFIG.Env as string[]).map((one) => one.split(/=(.*)/s).slice(0, 2)),
);

/** The words of the documented command that runs the image without a compose file. */
export function documentedRun(): string[] {
  const [, command = ""] = /^podman run ((?:.*\\\n)*.*)$/m.exec(read("README.md")) ?? [];
  return command
    .replaceAll("\\\n", " ")
    .split(/ +/)
    .filter((word) => word !== "");
}

export function composeServices(): Readonly<Record<string, ComposeService>> {
  const text = read("container/compose.yaml").replace(/\$\{\w+:-([^}]*)\}/g, "$1");
  return parse(text, { merge: true }).services;
}

/** A manifest with any fields; a test fails if a field is missing. */
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own schema checks the manifests
type Manifest = any;

export function manifests(): readonly Manifest[] {
  const { resources } = parse(read("kubernetes/kustomization.yaml"));
  return (resources as string[]).flatMap((name) => {
    const documents = parseAllDocuments(read(`kubernetes/${name}`));
    return documents.map((document) => document.toJS({ maxAliasCount: 0 }));
  });
}

export function manifest(kind: string, name: string): Manifest {
  return manifests().find((one) => one.kind === kind && one.metadata.name === name);
}
