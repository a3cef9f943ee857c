import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet, Deployment } from "kubernetes-models/apps/v1";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Namespace, Service } from "kubernetes-models/v1";
import { loadConfig } from "../../../src/config.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { composeServices, IMAGE_PACK, manifest, manifests } from "../../support/deploy/manifests.ts";
import { startCapabilities } from "../../support/deploy/units.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

const KINDS = { DaemonSet, Deployment, Namespace, NetworkPolicy, PodDisruptionBudget, Service } as const;
const services = manifest("Deployment", "assay").spec.template.spec;
const workers = manifest("DaemonSet", "assay-worker").spec.template.spec;
const [service] = services.containers;
const [worker] = workers.containers;

test("each manifest is valid by Kubernetes' schema of its kind", () => {
  const made = manifests();
  assert.equal(made.length, 8);
  for (const one of made) {
    const Kind = KINDS[one.kind as keyof typeof KINDS];
    assert.ok(Kind, one.kind);
    assert.equal(new Kind(structuredClone(one)).apiVersion, one.apiVersion);
    new Kind(structuredClone(one)).validate();
    const wrong = { ...structuredClone(one), metadata: { name: 1 } };
    assert.throws(() => new Kind(wrong).validate(), one.kind);
  }
});

test("services have no privileges and meet the strictest pod security standard, which their namespace enforces", () => {
  const { name, labels } = manifest("Namespace", "assay").metadata;
  assert.equal(labels["pod-security.kubernetes.io/enforce"], "restricted");
  assert.equal(manifest("Deployment", "assay").metadata.namespace, name);
  const { runAsNonRoot, runAsUser, seccompProfile } = services.securityContext;
  assert.deepEqual([runAsNonRoot, seccompProfile.type], [true, "RuntimeDefault"]);
  assert.match(IMAGE_PACK, new RegExp(`useradd --uid ${runAsUser} `));
  assert.deepEqual(service.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  for (const volume of services.volumes) assert.ok(volume.emptyDir ?? volume.secret, volume.name);
  assert.deepEqual(
    [services.hostNetwork, services.hostPID, services.automountServiceAccountToken],
    [undefined, undefined, false],
  );
});

test("workers have the launcher's capabilities and are not privileged", () => {
  const { privileged, readOnlyRootFilesystem, capabilities, seccompProfile, appArmorProfile, runAsUser } =
    worker.securityContext;
  assert.deepEqual([privileged, readOnlyRootFilesystem, runAsUser], [false, true, 0]);
  assert.deepEqual(capabilities.drop, ["ALL"]);
  assert.deepEqual(capabilities.add.map((name: string) => `CAP_${name}`).sort(), startCapabilities());
  assert.deepEqual([seccompProfile.type, appArmorProfile.type], ["Unconfined", "Unconfined"]);
  assert.deepEqual(
    [workers.hostNetwork, workers.hostPID, workers.automountServiceAccountToken],
    [undefined, undefined, false],
  );
  const [uids] = workers.volumes.filter((volume: { hostPath?: unknown }) => volume.hostPath);
  assert.deepEqual(uids.hostPath, { path: "/run/assay", type: "DirectoryOrCreate" });
  const { namespace } = manifest("DaemonSet", "assay-worker").metadata;
  const labels = manifest("Namespace", namespace).metadata.labels;
  assert.equal(labels["pod-security.kubernetes.io/enforce"], "privileged");
});

test("the pods set only known settings, and mount volumes at the configured paths", () => {
  const given = (container: { env: { name: string; value?: string }[] }) =>
    Object.fromEntries(
      container.env.map(({ name, value }) => [name, value ?? (name === "ASSAY_WORKERS" ? "2" : "postgres://h/d")]),
    );
  const config = loadConfig({}, given(service));
  assert.deepEqual([config.unknownSettings, loadConfig({}, given(worker)).unknownSettings], [[], []]);
  const mounted = service.volumeMounts.map((one: { mountPath: string }) => one.mountPath);
  const { transport } = config;
  assert.equal(transport.kind, "https");
  const used = [config.dataDir, transport.certPath, transport.keyPath, config.secretKey.path];
  for (const path of used)
    assert.ok(
      mounted.some((place: string) => path.startsWith(place)),
      path,
    );
  assert.deepEqual(
    worker.volumeMounts.map((one: { mountPath: string }) => one.mountPath),
    [loadConfig({}, {}).dataDir, "/run/assay"],
  );
  assert.deepEqual([service.args, worker.args], [["serve", "--no-worker"], ["worker"]]);
});

test("probes query the operator listener from within, and the stop time covers a drain", () => {
  const asked = (probe: { exec: { command: string[] } }) => probe.exec.command;
  assert.deepEqual(asked(service.readinessProbe), ["healthy", "/live"]);
  assert.deepEqual(asked(service.startupProbe), ["healthy", "/live"]);
  assert.deepEqual(asked(worker.readinessProbe), ["healthy", "/ready"]);
  assert.deepEqual(asked(worker.startupProbe), ["healthy", "/ready"]);
  // Restarting services because of an unavailable database adds an outage; restarting workers ends runs.
  assert.deepEqual([service.livenessProbe.tcpSocket, worker.livenessProbe], [{ port: "https" }, undefined]);
  const enough = loadConfig({}, {}).drainMs / 1000 + 15 + 25;
  for (const pod of [services, workers]) assert.equal(pod.terminationGracePeriodSeconds, enough);
});

/** The files of the image stay in memory: 1.7 GiB without language packs. */
const IMAGE_GIB = 2;

test("a worker requests a core and the largest memory limit for each run, and has no limit above the boxes", () => {
  const gigabytes = (text: string) => Number(/^(\d+)Gi$/.exec(text)?.[1]) * 1024 ** 3;
  const languages = loadLanguages(LANGUAGES);
  const steps = languages.list().flatMap((one) => PROFILE_NAMES.map((profile) => languages.limitsFor(one, profile)));
  const largest = Math.max(
    ...steps.flatMap(({ execute, compile = execute }) => [compile.memoryBytes, execute.memoryBytes]),
  );
  const { cpu, memory } = worker.resources.requests;
  assert.equal(gigabytes(memory), Number(cpu) * largest + (1 + IMAGE_GIB) * 1024 ** 3);
  assert.equal(worker.resources.limits, undefined);
  const workersOf = worker.env.find((one: { name: string }) => one.name === "ASSAY_WORKERS");
  assert.deepEqual(workersOf.valueFrom.resourceFieldRef, { resource: "requests.cpu", divisor: "1" });
});

test("network policies admit clients only to services, and workers only to DNS and the database", () => {
  const port = Number(composeServices().assay?.ports?.[0]?.split(":").at(-1));
  assert.deepEqual(service.ports, [{ name: "https", containerPort: port }]);
  assert.deepEqual(manifest("Service", "assay").spec.ports, [{ name: "https", port: 443, targetPort: "https" }]);
  const of = (name: string) => manifest("NetworkPolicy", name).spec;
  assert.deepEqual(of("assay").ingress, [{ ports: [{ port: "https" }] }]);
  assert.deepEqual([of("assay-worker").policyTypes, of("assay-worker").ingress], [["Ingress", "Egress"], undefined]);
  const out = of("assay-worker").egress.flatMap((rule: { ports: { port: number }[] }) => rule.ports);
  assert.deepEqual([...new Set(out.map((one: { port: number }) => one.port))], [53, 5432]);
});

test("selectors match our pods, and one service is always available", () => {
  for (const [kind, name] of [
    ["Deployment", "assay"],
    ["DaemonSet", "assay-worker"],
  ] as const) {
    const { selector, template } = manifest(kind, name).spec;
    assert.deepEqual(selector.matchLabels, template.metadata.labels);
    assert.deepEqual(manifest("NetworkPolicy", name).spec.podSelector, selector);
  }
  const { selector } = manifest("Deployment", "assay").spec;
  assert.deepEqual(manifest("Service", "assay").spec.selector, selector.matchLabels);
  assert.deepEqual(manifest("PodDisruptionBudget", "assay").spec, { minAvailable: 1, selector });
  assert.ok(manifest("Deployment", "assay").spec.replicas > 1);
});
