import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import { SANDBOXES } from "../../src/config/settings.ts";
import { ConfigError, loadConfig } from "../../src/config.ts";

test("the default is HTTPS on loopback with the certificate of the data directory", () => {
  const config = loadConfig({}, {});
  assert.deepEqual(config.listen, { host: "127.0.0.1", port: 8443 });
  assert.deepEqual(config.transport, {
    kind: "https",
    certPath: "/var/lib/assay/tls/server.pem",
    keyPath: "/var/lib/assay/tls/server.key",
  });
  assert.deepEqual(config.database, { kind: "sqlite", path: "/var/lib/assay/db/assay.sqlite" });
  assert.equal(config.launcherSocket, "/var/lib/assay/run/serve/launcher.sock");
  assert.equal(config.maxPending, 2000);
  assert.equal(config.operatorListen, null);
});

test("a service that is alone with its database has sandboxes by default, and the shell tells the launcher the same number", () => {
  const database = "postgres://db.example/assay";
  for (const [environment, number] of [
    [{}, SANDBOXES],
    [{ ASSAY_DATABASE: database }, 0],
    [{ ASSAY_SANDBOXES: "0" }, 0],
    [{ ASSAY_SANDBOXES: "3" }, 3],
    [{ ASSAY_SANDBOXES: "3", ASSAY_DATABASE: database }, 3],
  ] as const) {
    assert.equal(loadConfig({}, environment).sandboxes, number);
    const script = `. ./setup/instance.sh; sandboxes_at_most`;
    const env = { PATH: process.env.PATH, ...environment };
    assert.equal(execFileSync("sh", ["-euc", script], { env, encoding: "utf8" }), `${number}\n`);
  }
});

test("sandboxes have a network by default, as far as they have a loopback interface, and the shell tells the launcher the same", () => {
  const directory = "/run/there/egress";
  for (const [environment, isOn] of [
    [{}, true],
    [{ ASSAY_EGRESS: "no" }, false],
    [{ ASSAY_SANDBOX_LOOPBACK: "no" }, false],
    [{ ASSAY_SANDBOXES: "0" }, false],
  ] as const) {
    const { sandboxes, egress } = loadConfig({}, { ...environment, ASSAY_EGRESS_DIRECTORY: directory });
    assert.equal(sandboxes > 0 && egress?.directory === directory, isOn, JSON.stringify(environment));
    const script = `. ./setup/instance.sh; sandboxes=$(sandboxes_at_most); running=yes; use_egress /run/there; echo "$egress_directory"`;
    const env = { PATH: process.env.PATH, ...environment };
    assert.equal(execFileSync("sh", ["-euc", script], { env, encoding: "utf8" }), isOn ? `${directory}\n` : "\n");
  }
  assert.equal(loadConfig({}, {}).egress, null, "a launcher that another program has started has no proxy");
  assert.throws(
    () => loadConfig({}, { ASSAY_EGRESS_PRIVATE: "10.0.0.1/8" }),
    /ASSAY_EGRESS_PRIVATE.*bits after its prefix/,
  );
});

test("a flag overrides the environment", () => {
  const config = loadConfig({ data: "/srv/b", workers: "7" }, { ASSAY_DATA: "/srv/a", ASSAY_WORKERS: "3" });
  assert.equal(config.dataDir, "/srv/b");
  assert.equal(config.workers, 7);
  assert.equal(loadConfig({}, { ASSAY_WORKERS: "3" }).workers, 3);
});

test("a database server is given by URL, and errors do not repeat an invalid URL", () => {
  const url = "postgres://assay:secret@db.example/assay";
  assert.deepEqual(loadConfig({ database: url }, {}).database, { kind: "postgres", url });
  assert.deepEqual(loadConfig({}, { ASSAY_DATABASE: "postgresql:///assay?host=/run" }).database.kind, "postgres");
  for (const wrong of ["mysql://u:secret@h/d", "/secret.sqlite", "postgres:secret", "postgres://u:secret@:x/"]) {
    assert.throws(
      () => loadConfig({ database: wrong }, {}),
      (error: Error) =>
        error instanceof ConfigError && /^ASSAY_DATABASE: /.test(error.message) && !/secret/.test(error.message),
      wrong,
    );
  }
});

test("accepts addresses as HOST:PORT, [IPV6]:PORT or a Unix socket", () => {
  const listen = (text: string) => loadConfig({ listen: text }, {}).listen;
  assert.deepEqual(listen("0.0.0.0:443"), { host: "0.0.0.0", port: 443 });
  assert.deepEqual(listen("[::]:443"), { host: "::", port: 443 });
  assert.deepEqual(listen("unix:/run/x.sock"), { path: "/run/x.sock" });
  for (const wrong of ["", "8443", "host", ":1", "::1:443", "host:99999", "host:x", "unix:relative"]) {
    assert.throws(() => listen(wrong), ConfigError, wrong);
  }
});

test("rejects plain HTTP except on loopback", () => {
  assert.equal(loadConfig({ plainHttp: true }, {}).transport.kind, "loopback");
  assert.equal(loadConfig({ plainHttp: true, listen: "[::1]:80" }, {}).transport.kind, "loopback");
  for (const listen of ["0.0.0.0:80", "[::]:80", "192.168.1.1:80", "example.com:80"]) {
    assert.throws(() => loadConfig({ plainHttp: true, listen }, {}), /loopback/, listen);
  }
});

test("accepts any address behind named proxies", () => {
  const { transport } = loadConfig({ listen: "0.0.0.0:80" }, { ASSAY_TRUSTED_PROXY: "10.0.0.1, fd00::/8" });
  assert.deepEqual(transport, { kind: "proxied", proxies: ["10.0.0.1", "fd00::/8"] });
});

test("rejects a proxy that is not an address", () => {
  for (const proxy of ["example.com", "10.0.0.1/99", "10.0.0.1/", "*", "10.0.0.1,,x"]) {
    assert.throws(() => loadConfig({}, { ASSAY_TRUSTED_PROXY: proxy }), /ASSAY_TRUSTED_PROXY/, proxy);
  }
});

test("restricts the operator listener, which has no keys, to the machine", () => {
  assert.deepEqual(loadConfig({ operatorListen: "unix:/run/o.sock" }, {}).operatorListen, { path: "/run/o.sock" });
  assert.throws(() => loadConfig({ operatorListen: "0.0.0.0:9000" }, {}), /loopback/);
});

test("creates the key of webhook secrets only if no key file is configured", () => {
  assert.deepEqual(loadConfig({}, {}).secretKey, { path: "/var/lib/assay/keys/webhook.key", make: true });
  const named = loadConfig({}, { ASSAY_SECRET_KEY_FILE: "/etc/assay/webhook.key" });
  assert.deepEqual(named.secretKey, { path: "/etc/assay/webhook.key", make: false });
  assert.throws(() => loadConfig({}, { ASSAY_SECRET_KEY_FILE: "webhook.key" }), /ASSAY_SECRET_KEY_FILE.*absolute/);
});

test("accepts allowed receivers in URL notation, by flags or by the environment", () => {
  const allow = (...webhookAllow: string[]) => loadConfig({ webhookAllow }, {}).webhooks.allow;
  assert.deepEqual(allow(), []);
  assert.deepEqual(allow("127.0.0.1:9443", "[::1]:443"), [
    { host: "127.0.0.1", port: 9443 },
    { host: "::1", port: 443 },
  ]);
  assert.deepEqual(allow("Hooks.Intranet:8443", "[0:0::1]:1", "0x7f.1:2"), [
    { host: "hooks.intranet", port: 8443 },
    { host: "::1", port: 1 },
    { host: "127.0.0.1", port: 2 },
  ]);
  const environment = { ASSAY_WEBHOOK_ALLOW: "a.example:1, b.example:2" };
  assert.equal(loadConfig({}, environment).webhooks.allow.length, 2);
  assert.equal(loadConfig({ webhookAllow: [] }, environment).webhooks.allow.length, 2);
  assert.equal(loadConfig({ webhookAllow: ["c.example:3"] }, environment).webhooks.allow[0]?.host, "c.example");
  const wrong = [
    "127.0.0.1",
    "*",
    "*:443",
    "10.0.0.0/8",
    "10.0.0.0/8:443",
    ":443",
    "::1:443",
    "a:0",
    "a:99999",
    "unix:/x",
  ];
  for (const receiver of wrong) assert.throws(() => allow(receiver), /ASSAY_WEBHOOK_ALLOW.*HOST:PORT/, receiver);
});

test("accepts the authority of receivers as a file, which a flag can name with a relative path", () => {
  assert.equal(loadConfig({}, {}).webhooks.caPath, null);
  assert.equal(loadConfig({}, { ASSAY_WEBHOOK_CA: "/etc/ca.pem" }).webhooks.caPath, "/etc/ca.pem");
  assert.equal(loadConfig({ webhookCa: "ca.pem" }, {}).webhooks.caPath, resolve("ca.pem"));
  assert.throws(() => loadConfig({}, { ASSAY_WEBHOOK_CA: "ca.pem" }), /ASSAY_WEBHOOK_CA.*absolute/);
});

test("requires all settings of a provider or none, with its secret or a file that contains it", () => {
  const [issuer, id] = ["https://id.example.com/realms/us", "assay"];
  const names = { ASSAY_OIDC_ISSUER: issuer, ASSAY_OIDC_CLIENT_ID: id };
  assert.equal(loadConfig({}, {}).oidc, null);
  const known = { issuer, clientId: id, caPath: null };
  assert.deepEqual(loadConfig({}, { ...names, ASSAY_OIDC_CLIENT_SECRET: "s" }).oidc, {
    ...known,
    clientSecret: { text: "s" },
  });
  assert.deepEqual(loadConfig({}, { ...names, ASSAY_OIDC_CLIENT_SECRET_FILE: "/s", ASSAY_OIDC_CA: "/ca" }).oidc, {
    ...known,
    clientSecret: { path: "/s" },
    caPath: "/ca",
  });
  for (const half of [
    names,
    { ASSAY_OIDC_ISSUER: issuer, ASSAY_OIDC_CLIENT_SECRET: "s" },
    { ASSAY_OIDC_CLIENT_ID: id, ASSAY_OIDC_CLIENT_SECRET: "s" },
    { ASSAY_OIDC_CA: "/ca" },
    { ...names, ASSAY_OIDC_CLIENT_SECRET: "s", ASSAY_OIDC_CLIENT_SECRET_FILE: "/s" },
  ]) {
    assert.throws(() => loadConfig({}, half), /ASSAY_OIDC_ISSUER, .* must be set together/, JSON.stringify(half));
  }
  for (const wrong of ["http://id.example.com", "id.example.com", "https://id.example.com/?x=1"]) {
    const settings = { ...names, ASSAY_OIDC_ISSUER: wrong, ASSAY_OIDC_CLIENT_SECRET: "s" };
    assert.throws(() => loadConfig({}, settings), /ASSAY_OIDC_ISSUER: must be a URL that begins with https:/, wrong);
  }
});

test("rejects invalid values with the name of the setting", () => {
  const wrong: Record<string, string>[] = [
    { ASSAY_WORKERS: "0" },
    { ASSAY_WORKERS: "many" },
    { ASSAY_MAX_PENDING: "-1" },
    { ASSAY_LEASE_MS: "1.5" },
    { ASSAY_LOG_LEVEL: "loud" },
    { ASSAY_DATA: "relative/path" },
    { ASSAY_TLS_CERT: "c.pem" },
    { ASSAY_TLS_KEY: "k.pem" },
    { ASSAY_PLAIN_HTTP: "maybe" },
  ];
  for (const settings of wrong) {
    const [name = ""] = Object.keys(settings);
    assert.throws(() => loadConfig({}, settings), new RegExp(`^ConfigError: ${name}: `), name);
  }
  assert.throws(() => loadConfig({}, { ASSAY_TLS_CERT: "/c.pem" }), /ASSAY_TLS_KEY/);
});

test("reports settings with a misspelled name", () => {
  assert.deepEqual(loadConfig({}, { ASSAY_WROKERS: "3", HOME: "/" }).unknownSettings, ["ASSAY_WROKERS"]);
});
