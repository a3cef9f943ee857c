import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadConfig } from "../../../src/config.ts";
import { CONTAINERFILE, composeServices } from "../../support/deploy/manifests.ts";
import { startCapabilities } from "../../support/deploy/units.ts";
import { ROOT } from "../../support/repo/documents.ts";

const SERVICES = composeServices();
const { assay, service, worker, postgres } = SERVICES;

/** The environment variables of the image. */
const OF_IMAGE = Object.fromEntries(
  [...CONTAINERFILE.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = ""]) => line.split(" ").map((one) => one.split("="))),
);
const config = (environment = {}) => loadConfig({}, { ...OF_IMAGE, ...environment });
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
  assert.match(CONTAINERFILE, new RegExp(`groupadd --gid ${gid} assay`));
  assert.match(CONTAINERFILE, new RegExp(`useradd --uid ${uid} --gid assay .*--no-create-home .*nologin assay`));
  const data = service?.environment?.ASSAY_DATA ?? "";
  assert.deepEqual(service?.volumes, [`service:${data}`]);
  assert.match(CONTAINERFILE, new RegExp(`mkdir -m 0700 ${data} && chown assay:assay ${data}\\n`));
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
  assert.match(CONTAINERFILE, /^EXPOSE 8443$/m);
  for (const one of [assay, service]) assert.deepEqual(one?.ports, ["127.0.0.1:8443:8443"]);
  assert.deepEqual(operatorListen, { host: "127.0.0.1", port: 9464 });
  assert.equal(worker?.ports ?? postgres?.ports, undefined);
});

test("health checks use /ready with a worker and /live without", () => {
  assert.deepEqual(assay?.healthcheck?.test, ["CMD", "healthy", "/ready"]);
  assert.deepEqual(worker?.healthcheck?.test, ["CMD", "healthy", "/ready"]);
  assert.deepEqual(service?.healthcheck?.test, ["CMD", "healthy", "/live"]);
  assert.equal(service?.healthcheck?.interval, assay?.healthcheck?.interval);
  assert.match(CONTAINERFILE, /^HEALTHCHECK .* CMD \["healthy"\]$/m);
});

test("the stop time covers a drain and the end of the launcher", () => {
  const enough = config().drainMs / 1000 + 15 + 25;
  for (const one of [assay, worker, service]) assert.equal(seconds(one?.stop_grace_period), enough);
});

test("the image is built from a release, with its own commands, without a key or a database", () => {
  const commands = readdirSync(join(ROOT, "deploy/container")).filter(
    (name) => (statSync(join(ROOT, "deploy/container", name)).mode & 0o111) !== 0,
  );
  assert.deepEqual(commands, ["assay", "healthy"]);
  for (const name of commands) assert.ok(CONTAINERFILE.includes(`/opt/assay/current/app/deploy/container/${name} `));
  assert.match(CONTAINERFILE, /^FROM docker\.io\/library\/debian:trixie-slim$/m);
  assert.match(CONTAINERFILE, /assay set-up software --data \/opt\/assay/);
  assert.match(CONTAINERFILE, /^VOLUME \/var\/lib\/assay$/m);
  assert.doesNotMatch(CONTAINERFILE, /openssl req|keys create|^ADD http|curl|wget/m);
  assert.match(CONTAINERFILE, /^ENTRYPOINT \["assay"\]\nCMD \["serve"\]$/m);
});
