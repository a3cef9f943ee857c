import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assay } from "../../support/cli/processes.ts";
import { useProduct } from "../../support/programs/product.ts";
import { makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";

/** Part of all input of clients and operators that must not appear in a log. */
const SECRET = "planted-7f3a9c";

let receiver: Receiver;
let closing = async () => {};
after(() => delete process.env.ASSAY_LOG_LEVEL);
const product = useProduct({
  project: "shop",
  prepare: async (data) => {
    process.env.ASSAY_LOG_LEVEL = "trace";
    const certificates = makeCertificates();
    const context = { after: (close: () => Promise<void>) => (closing = close) } as Parameters<typeof startReceiver>[0];
    receiver = await startReceiver(context, certificates, (response) => response.writeHead(503).end(SECRET));
    const ca = join(data, "receivers.pem");
    writeFileSync(ca, certificates.ca);
    return ["--webhook-allow", `127.0.0.1:${receiver.port}`, "--webhook-ca", ca];
  },
});
after(() => closing());

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

function send({ method = "POST", path, key = product().key, headers = {}, body = "" }: Sent): Promise<void> {
  const all = { "x-api-key": key, "content-type": "application/json", ...headers };
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: product().service.port, method, path, agent: false, headers: all };
    const sent = request({ ...options, rejectUnauthorized: false }, (answer) => answer.resume().on("end", resolve));
    sent.on("error", reject).end(body);
  });
}

const lines = () => product().service.output().split("\n").filter(Boolean);

test("the complete log of a busy, hostile session contains no secret at the most verbose level", {
  timeout: 60_000,
}, async () => {
  const { data, key } = product();
  const url = `https://127.0.0.1:${receiver.port}/${SECRET}?token=${SECRET}`;
  const made = await assay("webhooks", "create", "--project", "shop", "--url", url, "--json", "--data", data);
  const { secret } = JSON.parse(made.stdout) as { secret: string };
  const program = { language: "python", code: `# ${SECRET}\nprint(input(), "${SECRET}")`, stdin: SECRET };
  const run = (await product().run("python", program.code, { stdin: SECRET })) as {
    id: string;
    output: { stdout: string };
  };
  assert.ok(run.output.stdout.includes(SECRET), "the program did have it");
  await product().run("python", `raise Exception("${SECRET}")`);
  const submit = "/api/submit";
  const body = JSON.stringify(program);
  const headers = {
    authorization: `Bearer ${SECRET}`,
    cookie: `session=${SECRET}`,
    "proxy-authorization": SECRET,
    "x-request-id": `${SECRET} "is no token"`,
    "user-agent": SECRET,
    referer: `https://example.com/${SECRET}`,
    "x-forwarded-for": SECRET,
  };
  const hostile: Sent[] = [
    { path: submit, body, headers },
    { path: `${submit}?wait=true&${SECRET}=1`, body },
    { path: submit, body: `{"code": "${SECRET}` },
    { path: submit, body: JSON.stringify({ ...program, [SECRET]: 1 }) },
    { path: submit, body: JSON.stringify({ ...program, language: SECRET }) },
    { path: submit, body, headers: { "idempotency-key": SECRET } },
    { path: submit, body, headers: { "content-type": SECRET } },
    { path: submit, body, headers: { expect: SECRET } },
    { path: submit, body, key: `assay_live_${SECRET}` },
    { path: submit, body, key: SECRET },
    { method: "GET", path: `/api/result/${SECRET}` },
    { method: "GET", path: `/${SECRET}?${SECRET}` },
    { method: "GET", path: `/api/languages?key=${SECRET}` },
    { method: "GET", path: `/api/result/%${SECRET}` },
  ];
  await Promise.all(
    Array.from({ length: 5 }, () => hostile)
      .flat()
      .map(send),
  );
  await receiver.until(3);
  await sleep(500);
  const log = product().service.output();
  for (const planted of [SECRET, key, key.slice("assay_live_".length, -4), secret, secret.replace(/^whsec_/, "")])
    assert.equal(
      log.includes(planted),
      false,
      lines().find((line) => line.includes(planted)),
    );
  assert.ok(lines().length > 60, "it did log");

  const parsed = lines().map((line) => JSON.parse(line));
  for (const line of parsed.filter(({ msg }) => msg === "request" || msg === "request failed"))
    assert.match(line.reqId, /^[A-Za-z0-9][\w.-]{7,63}$/);
  const about = parsed.filter(({ submission }) => submission === run.id);
  const [accepted, ended, delivery] = ["request", "ended", "not delivered"].map((msg) =>
    about.find((one) => one.msg === msg),
  );
  assert.ok(accepted.reqId && accepted.key, JSON.stringify(accepted));
  assert.deepEqual([ended.key, ended.language, ended.verdict, ended.attempt], [accepted.key, "python", "AC", 1]);
  assert.deepEqual([delivery.status, delivery.attempt], [503, 1]);
});
