import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import type { SignedInPerson } from "../../../support/http/dashboard/signed-in.ts";
import { API, entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { MemorySandboxes } from "../../../support/http/memory-sandboxes.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const SIZE = { rows: 24, cols: 80 };
type Open = Parameters<Parameters<typeof onEachDatabase>[0]>[0];

async function start(t: TestContext, open: Open) {
  const club = await startTwoTenants(t, { open, sandboxesOver: (store) => new MemorySandboxes(store) });
  const { running } = club;
  const key = await running.key({ project: "shop", name: "agent", profiles: ["agent"] });
  const send = async (method: string, path: string, body: object = {}) =>
    (await running.ask({ key, method, path: `/api/sandboxes${path}`, body })).json;
  const { id } = await send("POST", "");
  const terminal = async (): Promise<number> =>
    (await club.ada("POST", `/sandboxes/${id}/terminals`, SIZE)).json.number;
  const origin = `https://localhost:${running.port}`;
  /** A page of this person that is attached to an execution. @param headers null: the header is absent. */
  const attach = (
    { cookie }: Pick<SignedInPerson, "cookie">,
    number: number,
    { query = "", headers = {} }: { query?: string; headers?: Readonly<Record<string, string | null>> } = {},
  ) => {
    const sent = Object.entries({ cookie, origin, ...headers }).filter(([, value]) => value !== null);
    const url = `wss://localhost:${running.port}${API}/sandboxes/${id}/executions/${number}/attach${query}`;
    const socket = new WebSocket(url, {
      headers: Object.fromEntries(sent) as Record<string, string>,
      ca: readFileSync(running.caPath),
    });
    // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
    const messages: any[] = [];
    socket.on("message", (data: Buffer, isBinary) => messages.push(isBinary ? data : JSON.parse(data.toString())));
    const closed = new Promise<number>((resolve) => socket.on("close", resolve));
    const refused = new Promise<number | undefined>((resolve) => {
      socket.on("error", (error) => resolve(Number(/\d{3}/.exec(error.message)?.[0])));
      socket.on("open", () => resolve(undefined));
    });
    const output = () => Buffer.concat(messages.filter((one) => Buffer.isBuffer(one)).map((one) => one.subarray(1)));
    const until = async (text: string) => {
      while (!output().toString().includes(text)) await once(socket, "message");
    };
    return { socket, messages, closed, refused, output, until };
  };
  return { ...club, id, send, terminal, attach };
}

onEachDatabase((open) => {
  test("a person starts a terminal, types, resizes it, and sees its end with the verdict", LIMIT, async (t) => {
    const club = await start(t, open);
    const { ada, eve, root, attach, terminal, id } = club;
    const number = await terminal();
    const { command, row } = (await ada("GET", `/sandboxes/${id}/executions/${number}`)).json;
    assert.deepEqual([command, row.hasTerminal, row.status], ["/bin/bash -l", true, "running"]);
    const { socket, messages, closed, refused, output, until } = attach(ada.person, number);
    assert.equal(await refused, undefined);
    socket.send(Buffer.from("typed\r"));
    await until("typed\r");
    // A page that has lost its connection continues where it was.
    const again = attach(ada.person, number, { query: `?stdout=${output().length - 2}` });
    await again.until("d\r");
    socket.send(JSON.stringify({ type: "resize", rows: 30, cols: 90 }));
    await again.until("30x90\n");
    socket.send(JSON.stringify({ type: "signal", signal: "SIGTERM" }));
    assert.deepEqual([await closed, await again.closed], [1000, 1000]);
    assert.deepEqual(messages[0], { type: "start", number, stdout: 0, stderr: 0 });
    assert.equal(output().toString(), "typed\r30x90\nSIGTERM\n");
    assert.equal(again.output().toString(), "d\r30x90\nSIGTERM\n");
    const { type, execution } = messages.at(-1);
    assert.deepEqual(
      [type, execution.number, execution.verdict, execution.status],
      ["ended", number, "AC", "completed"],
    );
    // Two connections of a person to a sandbox are one entry.
    assert.deepEqual(await entriesOf(club, ada), [
      ["sandbox.attach", id],
      ["sandbox.start-terminal", id],
    ]);
    assert.deepEqual((await eve("POST", `/sandboxes/${id}/terminals`, SIZE)).json, NOT_THERE);
    assert.equal(await attach(eve.person, number).refused, 404);
    assert.deepEqual(await entriesOf(club, eve), []);
    const late = attach(root.person, number);
    assert.equal(await late.closed, 1000);
    assert.equal(late.output().toString(), "typed\r30x90\nSIGTERM\n");
    assert.deepEqual(await entriesOf(club, root), [["sandbox.read", id]], "an administrator who only reads");
  });

  test("a session that ends, and a person who loses the account, close the terminal", LIMIT, async (t) => {
    const { ada, root, accountId, attach, terminal } = await start(t, open);
    const number = await terminal();
    const person = `/members/${ada.person.id}`;
    const other = attach(ada.person, number);
    assert.equal(await other.refused, undefined);
    assert.equal((await root("PATCH", person, { accountIds: [] })).status, 200);
    assert.equal(await other.closed, 1008);
    assert.equal(await attach(ada.person, number).refused, 404);
    assert.equal((await root("PATCH", person, { accountIds: [accountId] })).status, 200);
    const types = attach(ada.person, number);
    const reads = attach(ada.person, number);
    assert.deepEqual([await types.refused, await reads.refused], [undefined, undefined]);
    await ada("DELETE", "/session");
    types.socket.send(Buffer.from("too late\r"));
    assert.deepEqual([await types.closed, await reads.closed], [1008, 1008]);
    assert.deepEqual(reads.messages.at(-1), { type: "error", error: "sign in first" });
    assert.equal(await attach(ada.person, number).refused, 401);
  });
});

test(
  "a terminal is only for pages of this service, with a session, and for a bounded number of them",
  LIMIT,
  async (t) => {
    const club = await start(t, (t) =>
      import("../../../support/store/temporary.ts").then((all) => all.temporaryStore(t)),
    );
    const { ada, attach, terminal, running, id } = club;
    const number = await terminal();
    for (const [what, headers, status] of [
      ["another port of the host", { origin: `https://localhost:${running.port + 1}` }, 403],
      ["plain HTTP", { origin: `http://localhost:${running.port}` }, 403],
      ["a frame without an origin", { origin: "null" }, 403],
      ["no origin", { origin: null }, 403],
      ["no origin, but Sec-Fetch-Site", { origin: null, "sec-fetch-site": "same-origin" }, 403],
      ["no session", { cookie: null }, 401],
      ["an API key", { cookie: null, "x-api-key": running.defaultKey }, 401],
    ] as const)
      assert.equal(await attach(ada.person, number, { headers }).refused, status, what);
    assert.equal((await ada("GET", `/sandboxes/${id}/executions/${number}/attach`)).status, 426);
    const attached = Array.from({ length: 8 }, () => attach(ada.person, number));
    for (const one of attached) assert.equal(await one.refused, undefined);
    assert.equal(await attach(ada.person, number).refused, 429);
    const [first] = attached;
    first?.socket.close();
    await first?.closed;
    let status: number | undefined = 429;
    while (status === 429) {
      const next = attach(ada.person, number);
      status = await next.refused;
      attached.push(next);
    }
    assert.equal(status, undefined, "a place becomes free");
    assert.equal(await attach(ada.person, 99).refused, 404);
    assert.equal(await attach(ada.person, number, { query: "?stdout=x" }).refused, 400);
    for (const body of [{}, { rows: 0, cols: 80 }, { rows: 24, cols: 1_001 }, { ...SIZE, command: "x" }])
      assert.equal((await ada("POST", `/sandboxes/${id}/terminals`, body)).status, 400, JSON.stringify(body));
    const bad = attached.at(-1);
    bad?.socket.send("{}");
    assert.equal(await bad?.closed, 1008);
    await ada("POST", `/sandboxes/${id}/end`);
    assert.equal((await ada("POST", `/sandboxes/${id}/terminals`, SIZE)).status, 410);
  },
);
