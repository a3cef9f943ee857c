import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadConfig } from "../../../src/config.ts";
import {
  composeServices,
  documentedRun,
  IMAGE_CONFIG,
  IMAGE_ENVIRONMENT,
  IMAGE_PACK,
} from "../../support/deploy/manifests.ts";
import { startCapabilities } from "../../support/deploy/units.ts";
import { ROOT } from "../../support/repo/documents.ts";

const SERVICES = composeServices();
const { assay, service, worker, postgres } = SERVICES;

const config = (environment = {}) => loadConfig({}, { ...IMAGE_ENVIRONMENT, ...environment });
const seconds = (text = "") => Number(/^(\d+)s$/.exec(text)?.[1]);

test("the containers are one service, and a profile with PostgreSQL, a separate service and workers", () => {
  assert.deepEqual(Object.keys(SERVICES), ["assay", "service", "worker", "postgres"]);
  assert.equal(assay?.profiles, undefined);
  for (const one of [service, worker, postgres]) assert.deepEqual(one?.profiles, ["postgres"]);
  assert.deepEqual(
    [assay?.command, service?.command, worker?.command],
    [["serve"], ["serve", "--no-worker"], ["worker"]],
  );
});

test("our image is never pulled", () => {
  for (const one of [assay, service, worker]) assert.deepEqual([one?.image, one?.pull_policy], ["assay", "never"]);
});

test("containers that run programs have the launcher's capabilities and are not privileged", () => {
  for (const one of [assay, worker]) {
    assert.deepEqual(one?.cap_drop, ["ALL"]);
    assert.deepEqual(one?.cap_add?.map((name) => `CAP_${name}`).sort(), startCapabilities());
    assert.deepEqual(one?.security_opt, ["seccomp=unconfined", "apparmor=unconfined", "no-new-privileges"]);
    assert.deepEqual([one?.cgroup, one?.pids_limit, one?.read_only, one?.user], ["private", -1, true, undefined]);
    assert.ok(one?.volumes?.includes("uids:/run/assay"));
  }
  for (const one of Object.values(SERVICES)) assert.ok(!("privileged" in one));
});

test("containers that run no programs have a separate user and no privileges", () => {
  assert.deepEqual([service?.cap_drop, service?.cap_add], [["ALL"], undefined]);
  assert.deepEqual([service?.security_opt, service?.read_only], [["no-new-privileges"], true]);
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(service?.user ?? "") ?? [];
  assert.match(IMAGE_PACK, new RegExp(`groupadd --gid ${gid} assay`));
  assert.match(IMAGE_PACK, new RegExp(`useradd --uid ${uid} --gid assay .*--no-create-home .*nologin assay`));
  const data = service?.environment?.ASSAY_DATA ?? "";
  assert.deepEqual(service?.volumes, [`service:${data}`]);
  assert.match(IMAGE_PACK, new RegExp(`--owner=${uid} --group=${gid} .* \\.${data}\\n`));
});

test("the containers set only known settings", () => {
  for (const one of [assay, service, worker]) assert.deepEqual(config(one?.environment).unknownSettings, []);
  assert.equal(config(assay?.environment).database.kind, "sqlite");
  for (const one of [service, worker]) assert.equal(config(one?.environment).database.kind, "postgres");
  // The certificate is for the host name, which would otherwise differ for each container.
  for (const one of [assay, service]) assert.equal(one?.hostname, "assay");
});

test("clients reach the image's port, and the operator listener is on the container's loopback", () => {
  const { listen, operatorListen } = config();
  assert.deepEqual(listen, { host: "0.0.0.0", port: 8443 });
  assert.deepEqual(Object.keys(IMAGE_CONFIG.ExposedPorts), ["8443/tcp"]);
  for (const one of [assay, service]) assert.deepEqual(one?.ports, ["127.0.0.1:8443:8443"]);
  assert.deepEqual(operatorListen, { host: "127.0.0.1", port: 9464 });
  assert.equal(worker?.ports ?? postgres?.ports, undefined);
});

test("health checks use /ready with a worker and /live without", () => {
  assert.deepEqual(assay?.healthcheck?.test, ["CMD", "healthy", "/ready"]);
  assert.deepEqual(worker?.healthcheck?.test, ["CMD", "healthy", "/ready"]);
  assert.deepEqual(service?.healthcheck?.test, ["CMD", "healthy", "/live"]);
  assert.equal(service?.healthcheck?.interval, assay?.healthcheck?.interval);
  assert.deepEqual(IMAGE_CONFIG.Healthcheck.Test, ["CMD", "healthy"]);
  assert.equal(IMAGE_CONFIG.Healthcheck.Interval, seconds(assay?.healthcheck?.interval) * 1e9);
});

test("the stop time covers a drain and the end of the launcher", () => {
  const enough = config().drainMs / 1000 + 15 + 25;
  for (const one of [assay, worker, service]) assert.equal(seconds(one?.stop_grace_period), enough);
});

test("the image is packed from a release, with its own commands, without a key or a database", () => {
  const commands = readdirSync(join(ROOT, "deploy/container")).filter(
    (name) => (statSync(join(ROOT, "deploy/container", name)).mode & 0o111) !== 0,
  );
  assert.deepEqual(commands, ["assay", "healthy", "pack"]);
  for (const name of ["assay", "healthy"])
    assert.ok(IMAGE_PACK.includes(`/opt/assay/current/app/deploy/container/${name} `), name);
  assert.doesNotMatch(IMAGE_PACK, /openssl req|keys create|curl|wget/);
  assert.deepEqual(Object.keys(IMAGE_CONFIG.Volumes), ["/var/lib/assay"]);
  assert.deepEqual([IMAGE_CONFIG.Entrypoint, IMAGE_CONFIG.Cmd], [["assay"], ["serve"]]);
  // The launcher needs root; the process of the service changes its user.
  assert.deepEqual([IMAGE_CONFIG.User, IMAGE_CONFIG.StopSignal], [undefined, "SIGTERM"]);
});

test("the documented command grants what compose.yaml grants, and no more", () => {
  const words = documentedRun();
  const image = words.pop();
  const given = new Map<string, string[]>();
  for (let at = 0; at < words.length; at++) {
    const option = words[at]?.slice(2) ?? "";
    const value = words[at + 1]?.startsWith("--") ? "true" : (words[++at] ?? "");
    given.set(option, [...(given.get(option) ?? []), value]);
  }
  assert.deepEqual(Object.fromEntries(given), {
    pull: [assay?.pull_policy],
    detach: ["true"],
    name: ["assay"],
    restart: [assay?.restart],
    hostname: [assay?.hostname],
    publish: assay?.ports,
    volume: assay?.volumes?.map((volume) => `assay-${volume}`),
    env: Object.entries(assay?.environment ?? {}).map(([name, value]) => `${name}=${value}`),
    "read-only": [String(assay?.read_only)],
    cgroupns: [assay?.cgroup],
    "pids-limit": [String(assay?.pids_limit)],
    "security-opt": assay?.security_opt,
    "cap-drop": assay?.cap_drop,
    "cap-add": assay?.cap_add,
    "stop-timeout": [String(seconds(assay?.stop_grace_period))],
  });
  assert.equal(image, assay?.image);
});
