import assert from "node:assert/strict";
import { createServer, type Server, Socket } from "node:net";
import { after, before, mock, test } from "node:test";
import type { SecureContext } from "node:tls";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import type { HostPort } from "../../../src/domain/transport.ts";
import { type Resolve, resolvePublic } from "../../../src/network/resolve.ts";
import { checkUrl } from "../../../src/webhooks/permitted-addresses.ts";
import { type PostTo, post } from "../../../src/webhooks/post.ts";
import { type Sent, send } from "../../../src/webhooks/send.ts";
import { BlockedError } from "../../../src/webhooks/target.ts";
import { trustedAuthorities } from "../../../src/webhooks/trust.ts";
import { NOT_GLOBAL_4, NOT_GLOBAL_6 } from "../../support/network/addresses.ts";
import { loopbackUrls, OTHER_URLS } from "../../support/webhooks/hostile.ts";
import { claimFor, sealer } from "../../support/webhooks/project.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";

/**
 * No attempt may open a connection. Two independent counters verify that: listeners on loopback, and a wrapper around
 * the call by which every connection of this process begins.
 */
const PUBLIC = "93.184.215.14";

let four: Server;
let six: Server;
let port = 0;
let accepted = 0;
const begun = mock.method(Socket.prototype, "connect");

const listen = (host: string, on: number) =>
  new Promise<Server>((resolve, reject) => {
    const server = createServer((socket) => {
      accepted++;
      socket.destroy();
    });
    server.once("error", reject).listen(on, host, () => resolve(server));
  });

before(async () => {
  four = await listen("127.0.0.1", 0);
  port = (four.address() as { port: number }).port;
  six = await listen("::1", port);
});
after(() => {
  four.close();
  six.close();
});

const DEFAULT_TRUST = trustedAuthorities(null);

/** Sends on this event loop, so that the test sees each connection that begins. */
const postHere =
  (trust: SecureContext, resolve: Resolve): PostTo =>
  (request, { signal }) =>
    post(request, { trust, resolve, signal });
const NEVER = new AbortController().signal;

function sendTo(url: string, resolve: Resolve, allowed: readonly HostPort[] = [], timeoutMs = 2_000): Promise<Sent> {
  const options = {
    sealer,
    allowed,
    post: postHere(DEFAULT_TRUST, resolve),
    foreignApis: FOREIGN_APIS,
    userAgent: "Assay/0.0.0",
    timeoutMs,
  };
  return send(claimFor(url), [Buffer.from("{}")], options, NEVER);
}

/** Checks that configuration and delivery both refuse the URL, and that neither connects. */
async function refused(url: string, resolve: Resolve = async () => [PUBLIC]): Promise<void> {
  const before = [begun.mock.callCount(), accepted];
  await assert.rejects(checkUrl(url, [], resolve), BlockedError);
  const { result, attempt } = await sendTo(url, resolve);
  assert.deepEqual([result, attempt.status, attempt.answer], ["never", null, null]);
  assert.ok((attempt.error ?? "").length > 5);
  assert.deepEqual([begun.mock.callCount(), accepted], before);
}

test("the counters detect a connection", async () => {
  const before = begun.mock.callCount();
  await sendTo(`https://127.0.0.1:${port}/`, async () => [], [{ host: "127.0.0.1", port }]);
  assert.equal(begun.mock.callCount(), before + 1);
  assert.equal(accepted, 1);
});

test("refuses every spelling of loopback", async (t) => {
  const urls = loopbackUrls(port);
  assert.ok(urls.length > 60);
  for (const url of urls) await t.test(JSON.stringify(url), () => refused(url));
});

test("refuses every address that is not global unicast", async (t) => {
  for (const address of NOT_GLOBAL_4) await t.test(address, () => refused(`https://${address}:${port}/`));
  for (const address of NOT_GLOBAL_6) await t.test(address, () => refused(`https://[${address}]:${port}/`));
});

test("refuses other URLs", async (t) => {
  for (const url of OTHER_URLS) await t.test(JSON.stringify(url.slice(0, 60)), () => refused(url));
});

test("refuses names that resolve to such an address, alone or among others", async (t) => {
  const url = `https://hooks.example:${port}/`;
  for (const address of [...NOT_GLOBAL_4, ...NOT_GLOBAL_6]) {
    await t.test(address, async () => {
      await refused(url, async () => [address]);
      await refused(url, async () => [PUBLIC, address]);
      await refused(url, async () => [address, PUBLIC]);
      await refused(url, async () => ["2606:4700::1111", PUBLIC, address, "2606:4700::1112"]);
    });
  }
});

test("refuses names that resolve to text that is not an address", async () => {
  const url = `https://hooks.example:${port}/`;
  for (const answer of ["", "localhost", "127.1", "0x7f.0.0.1", "2130706433", "fe80::1%lo", "127.0.0.1\0"]) {
    await refused(url, async () => [answer]);
  }
});

test("refuses a name that resolves to another address after configuration", async () => {
  for (const later of ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"]) {
    const answers = [[PUBLIC], [later]];
    const resolve: Resolve = async () => answers.shift() ?? [];
    const url = `https://rebinding.example:${port}/`;
    await checkUrl(url, [], resolve);
    const before = [begun.mock.callCount(), accepted];
    const { result, attempt } = await sendTo(url, resolve);
    assert.equal(result, "never");
    assert.match(attempt.error ?? "", /only public addresses are allowed/);
    assert.deepEqual([begun.mock.callCount(), accepted], before);
  }
});

test("resolves a name only once, so that it cannot change before the connection", async (t) => {
  let queries = 0;
  const resolve: Resolve = async () => (queries++ === 0 ? [PUBLIC, "2606:4700::1111"] : ["127.0.0.1"]);
  const connected: unknown[] = [];
  // The only test that would leave this machine: the connection stops after it has its addresses.
  const connecting = t.mock.method(Socket.prototype, "connect", function (this: Socket, ...args: unknown[]) {
    const [{ lookup }] = args.flat() as [{ lookup: (name: string, options: object, done: unknown) => void }];
    for (const all of [true, false]) {
      lookup("rebinding.example", { all }, (error: unknown, ...found: unknown[]) => connected.push([error, ...found]));
    }
    setImmediate(() => this.destroy(new Error("as far as this test goes")));
    return this;
  });
  const { result, attempt } = await sendTo(`https://rebinding.example:${port}/`, resolve);
  connecting.mock.restore();
  assert.deepEqual([result, attempt.error], ["again", "as far as this test goes"]);
  assert.equal(queries, 1);
  assert.deepEqual(connected, [
    [
      null,
      [
        { address: PUBLIC, family: 4 },
        { address: "2606:4700::1111", family: 6 },
      ],
    ],
    [null, PUBLIC, 4],
  ]);
});

test("does not follow redirects to refused addresses", async (t) => {
  const certificates = makeCertificates();
  const goals = [
    `https://127.0.0.1:${port}/`,
    `http://[::1]:${port}/`,
    "http://169.254.169.254/",
    `//localhost:${port}/`,
  ];
  for (const location of goals) {
    for (const status of [301, 302, 303, 307, 308]) {
      const receiver = await startReceiver(t, certificates, (response) =>
        response.writeHead(status, { location }).end(),
      );
      const allowed = [{ host: "127.0.0.1", port: receiver.port }];
      const options = {
        sealer,
        allowed,
        post: postHere(trustedAuthorities(certificates.ca), resolvePublic),
        foreignApis: FOREIGN_APIS,
        userAgent: "Assay/0.0.0",
      };
      const before = [begun.mock.callCount(), accepted] as const;
      const { result, attempt } = await send(claimFor(receiver.url), [Buffer.from("{}")], options, NEVER);
      assert.deepEqual([result, attempt.status], ["never", status]);
      assert.deepEqual([begun.mock.callCount(), accepted], [before[0] + 1, before[1]]);
    }
  }
});

test("an allowed receiver is exactly that host and port", async () => {
  const allowed = [{ host: "127.0.0.1", port }];
  const before = [begun.mock.callCount(), accepted];
  for (const url of [
    `https://127.0.0.1:${port + 1}/`,
    `https://127.0.0.2:${port}/`,
    `https://localhost:${port}/`,
    `https://[::1]:${port}/`,
    `https://[::ffff:127.0.0.1]:${port}/`,
    `http://127.0.0.1:${port}/`,
    `https://user@127.0.0.1:${port}/`,
    `https://127.0.0.1/`,
    `https://hooks.example:${port}/`,
  ]) {
    const resolve: Resolve = async () => ["127.0.0.1"];
    await assert.rejects(checkUrl(url, allowed, resolve), BlockedError, url);
    assert.equal((await sendTo(url, resolve, allowed)).result, "never", url);
  }
  assert.deepEqual([begun.mock.callCount(), accepted], before);
});

test("an unknown name is a warning at configuration and is retried at delivery", async () => {
  const resolve: Resolve = async () => {
    throw new Error("queryA ENOTFOUND gone.example");
  };
  const caution = await checkUrl("https://gone.example/", [], resolve);
  assert.equal(caution, "gone.example cannot be resolved now: queryA ENOTFOUND gone.example");
  const { result, attempt } = await sendTo("https://gone.example/", resolve);
  assert.deepEqual([result, attempt.error], ["again", "queryA ENOTFOUND gone.example"]);
});

test("a look-up that never answers is a timeout", async () => {
  const { result, attempt } = await sendTo("https://slow.example/", () => new Promise(() => {}), [], 200);
  assert.deepEqual([result, attempt.error], ["again", "no response within 0.2 s"]);
});

test("accepts public addresses", async () => {
  for (const url of [
    "https://hooks.example/",
    "https://hooks.example:8443/a?b=c",
    "https://1.1.1.1/",
    "https://[2606:4700::1111]/",
  ]) {
    assert.equal(await checkUrl(url, [], async () => [PUBLIC, "2606:4700::1111"]), null);
  }
});
