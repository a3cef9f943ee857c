import assert from "node:assert/strict";
import { test } from "node:test";
import { zipOf } from "../../../support/client/judge0.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const headers = { "content-type": "application/x-www-form-urlencoded" };

onEachDatabase((open) => {
  test("a submission can be a URL-encoded form", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const post = (body: string | Buffer, query = "") =>
      ask({ method: "POST", path: `/judge0/submissions${query}`, body, headers });
    const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
    const fields = {
      source_code: "print('é + & = %')\n",
      stdin: "a\0b",
      expected_output: "1",
      command_line_arguments: "-n 'a b'",
      additional_files: zipOf({ "lib/a.py": "A = 1\n" }).toString("base64"),
    };
    const { status, json } = await post(
      form({
        ...fields,
        language_id: "71",
        number_of_runs: "2",
        cpu_time_limit: "0.5",
        memory_limit: "65536",
        redirect_stderr_to_stdout: "true",
        enable_network: "false",
        callback_url: "",
      }),
    );
    assert.equal(status, 201);
    await runPending(store);
    const { json: all } = await ask({ path: `/judge0/submissions/${json.token}?fields=*` });
    for (const [name, value] of Object.entries({
      ...fields,
      additional_files: all.additional_files,
      language_id: 71,
      number_of_runs: 2,
      cpu_time_limit: "0.5",
      memory_limit: 65_536,
      redirect_stderr_to_stdout: true,
      enable_network: false,
      callback_url: null,
      status_id: 3,
    }))
      assert.deepEqual(all[name], value, name);
    assert.equal(all.additional_files.replaceAll("\n", ""), fields.additional_files);
    const encoded = form({ language_id: "71", source_code: Buffer.from("print(1)").toString("base64") });
    assert.equal((await post(encoded, "?base64_encoded=true")).status, 201);
  });

  test("a form has the bounds of JSON, and no other route takes one", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const post = (body: string | Buffer, path = "/judge0/submissions", more = {}) =>
      ask({ method: "POST", path, body, headers: { ...headers, ...more } });
    for (const [body, status, fault] of [
      ["language_id=71", 422, /source_code/],
      ["", 422, /language_id/],
      ["language_id=71&source_code=1&enable_network=true", 422, /enable_network/],
      [`language_id=71&source_code=${"x".repeat(1_048_577)}`, 422, /source_code/],
      ["language_id=71&source_code=%ff", 400, /not a form/],
      ["language_id=71&language_id=50&source_code=1", 400, /duplicate/],
      ["&".repeat(600), 400, /512 values/],
      ["x".repeat(5 << 20), 413, /./],
    ] as const) {
      const answer = await post(body);
      assert.equal(answer.status, status, `${body.slice(0, 60)}: ${answer.text}`);
      assert.match(answer.text, fault);
    }
    const valid = "language_id=71&source_code=1";
    for (const path of ["/judge0/submissions/batch", "/api/submit", "/api/judgements"])
      assert.equal((await post(valid, path)).status, 415, path);
    assert.equal(
      (await post(valid, undefined, { "content-type": `${headers["content-type"]}; charset=latin1` })).status,
      415,
    );
    assert.equal((await post(valid, undefined, { "content-type": "multipart/form-data; boundary=x" })).status, 415);
    assert.equal(await store.submissions.depth(), 0);
  });
});
