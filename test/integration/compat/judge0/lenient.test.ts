import assert from "node:assert/strict";
import { test } from "node:test";
import { zipOf } from "../../../support/client/judge0.ts";
import { startHttp } from "../../../support/http/running.ts";
import { temporaryStore } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };

async function startJudge0(t: Parameters<typeof startHttp>[0]) {
  const { ask } = await startHttp(t, { open: temporaryStore });
  return async (body: unknown) => {
    const made = await ask({ method: "POST", path: "/judge0/submissions", body });
    if (made.status !== 201) return made;
    return await ask({ path: `/judge0/submissions/${made.json.token}?fields=*` });
  };
}

test("a text can be a number, as clients send it for inputs and answers", LIMIT, async (t) => {
  const post = await startJudge0(t);
  const { status, json } = await post({
    ...{ language_id: 71, source_code: 1, stdin: 4, expected_output: 0.5, command_line_arguments: -7 },
  });
  assert.equal(status, 200);
  assert.deepEqual(
    [json.source_code, json.stdin, json.expected_output, json.command_line_arguments],
    ["1", "4", "0.5", "-7"],
  );
  const infinite = await post('{"language_id":71,"source_code":"1","stdin":1e999}');
  assert.deepEqual([infinite.status, infinite.json], [422, { stdin: ["is not a text"] }]);
});

test("limits above those of the key are lowered, and the answer has those that hold", LIMIT, async (t) => {
  const post = await startJudge0(t);
  // The values of the example in Judge0's documents, and its defaults.
  const given = {
    ...{ number_of_runs: 1, cpu_time_limit: "5", cpu_extra_time: "0.5", wall_time_limit: "15", memory_limit: "512000" },
    ...{ stack_limit: "64000", max_processes_and_or_threads: "60", max_file_size: "4096" },
    ...{ enable_per_process_and_thread_time_limit: false, enable_per_process_and_thread_memory_limit: true },
  };
  const { status, json } = await post({ language_id: 71, source_code: "print(1)", ...given });
  assert.equal(status, 200);
  const without = (await post({ language_id: 71, source_code: "print(1)" })).json;
  for (const name of [
    "cpu_time_limit",
    "wall_time_limit",
    "memory_limit",
    "stack_limit",
    "max_processes_and_or_threads",
  ]) {
    assert.equal(json[name], without[name], name);
    assert.ok(Number(json[name]) < Number(given[name as keyof typeof given]), name);
  }
  assert.deepEqual([json.cpu_extra_time, json.enable_per_process_and_thread_memory_limit], ["0.5", false]);
  const least = await post({ language_id: 71, source_code: "print(1)", cpu_time_limit: -1, wall_time_limit: 0 });
  assert.deepEqual([least.status, Object.keys(least.json)], [422, ["cpu_time_limit", "wall_time_limit"]]);
});

test("files that macOS adds to an archive are ignored, and other hidden files are refused", LIMIT, async (t) => {
  const post = await startJudge0(t);
  const added = ["__MACOSX/._d.txt", ".DS_Store", "lib/.DS_Store", "lib/._a.py"];
  const archive = zipOf({ "lib/a.py": "A = 1\n", ...Object.fromEntries(added.map((path) => [path, "?"])) });
  const body = { language_id: 71, source_code: "import lib.a", additional_files: archive.toString("base64") };
  assert.equal((await post(body)).status, 200);
  const hidden = zipOf({ ".profile": "x" }).toString("base64");
  assert.equal((await post({ ...body, additional_files: hidden })).status, 422);
});

test("answers have a text where Judge0 has one", LIMIT, async (t) => {
  const { ask } = await startHttp(t, { open: temporaryStore });
  const about = (await ask({ path: "/judge0/about" })).json;
  assert.deepEqual(
    Object.values(about).map((value) => typeof value),
    Array(4).fill("string"),
  );
  const { status, text } = await ask({ path: "/judge0/isolate" });
  assert.deepEqual([status, text], [200, "Assay has a sandbox of its own, and does not use isolate.\n"]);
});
