// A client of the HTTP API: NODE_EXTRA_CA_CERTS="$ASSAY_CA" node docs/client.mjs
const { ASSAY_URL, ASSAY_KEY } = process.env;
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function run(submission) {
  let losses = 0;
  let path = "/api/submit?wait=true";
  let request = {
    method: "POST",
    headers: { "X-API-Key": ASSAY_KEY, "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
    body: JSON.stringify(submission),
  };
  for (;;) {
    let answer, record;
    try {
      answer = await fetch(ASSAY_URL + path, request);
      record = await answer.json();
    } catch (lost) {
      if (++losses > 10) throw lost;
      await pause(1);
      continue;
    }
    const isLate = answer.status === 408 && record.id === undefined; // the request itself came too slowly
    if (answer.status === 429 || answer.status === 503 || isLate) {
      await pause(Number(answer.headers.get("Retry-After") ?? 1));
      continue;
    }
    if (!answer.ok && answer.status !== 408) throw new Error(`${answer.status}: ${record.error}`);
    if (record.status === "completed" || record.status === "error") return record;
    [path, request] = [`/api/result/${record.id}`, { headers: { "X-API-Key": ASSAY_KEY } }];
    await pause(1);
  }
}

const { result, output } = await run({ language: "python", code: "print(6 * 7)" });
process.stdout.write(`${result.verdict} ${output.stdout}`);
