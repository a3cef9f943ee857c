import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { installFromPypi } from "../../support/client/judge0.ts";
import { useProduct } from "../../support/programs/product.ts";

/** The clients that docs/judge0.md and docs/piston.md name, and that no other test uses. They are used as published. */
const product = useProduct();

interface PublicClient {
  readonly packages: readonly string[];
  readonly module: string;
  /** Prints JSON. It gets the address of the service and the key as arguments. */
  readonly script: string;
  readonly printed: unknown;
}

const CLIENTS: readonly PublicClient[] = [
  {
    packages: ["judge0-client==0.4.0"],
    module: "judge0_client",
    script: `import asyncio, json, sys
from judge0_client import Judge0Client, MultiFileSubmission, SingleFileSubmission

async def main():
    async with Judge0Client(sys.argv[1] + "/judge0", auth_token=sys.argv[2]) as client:
        async def run(submission):
            made = await client.create_submission(submission)
            while (got := await client.get_submission(made.token)).status.id <= 2:
                await asyncio.sleep(0.1)
            return [got.status.description, got.stdout]

        about = [(await client.get_about()).version, len(await client.get_workers())]
        texts = [type(await client.get_isolate()).__name__, type(await client.get_license()).__name__]
        # The limits are Judge0's defaults.
        single = SingleFileSubmission(
            source_code="print(open('данные.txt').read(), input())", language_id=71, stdin="é", expected_output="два é",
            additional_files={"данные.txt": "два", "my data.txt": ""}, cpu_time_limit=2, cpu_extra_time=0.5, wall_time_limit=5,
            memory_limit=128000, stack_limit=64000, max_processes_and_or_threads=60, max_file_size=1024,
            enable_per_process_and_thread_memory_limit=True)
        several = MultiFileSubmission(additional_files={
            "compile": "gcc 'my program.c' -o 'my program'", "run": "'./my program'",
            "my program.c": '#include <stdio.h>\\nint main(void) { puts("hi"); }'})
        print(json.dumps([about, texts, await run(single), await run(several)]))

asyncio.run(main())`,
    printed: [
      ["1.13.1", 1],
      ["str", "str"],
      ["Accepted", "два é\n"],
      ["Accepted", "hi\n"],
    ],
  },
  {
    packages: ["--no-deps", "judge0-api-wrapper==1.1.3"],
    module: "judge0_api_wrapper",
    script: `import json, sys
from judge0_api_wrapper import CreateSubmission, Judge0
client = Judge0(sys.argv[1] + "/judge0", sys.argv[2], "user")
one = client.submit(CreateSubmission(source_code="print(input())", language_id=71, stdin="é", expected_output="é", memory_limit=512000))
many = client.submit_batch([CreateSubmission(source_code=f"print({n})", language_id=71) for n in range(3)])
ended = [client.wait_for_completion(one), *client.wait_for_completions(many)]
print(json.dumps([client.languages[71], [[int(each.result), each.stdout] for each in ended]]))`,
    printed: [
      "Python 3.13",
      [
        [3, "é\n"],
        [3, "0\n"],
        [3, "1\n"],
        [3, "2\n"],
      ],
    ],
  },
  {
    packages: ["judge0api==0.1.20"],
    module: "judge0api",
    script: `import json, sys
import judge0api, requests
url, key = sys.argv[1] + "/judge0", sys.argv[2]
try:
    judge0api.Client(url, auth_token=key)
    in_url = None
except requests.HTTPError as error:
    in_url = error.response.status_code
client = judge0api.Client(url)
client.session.headers["X-Auth-Token"] = key
made = judge0api.submission.submit(client, b"print(input())", 71, stdin=b"x", expected_output=b"x", cpu_time_limit=5)
again = judge0api.submission.get(client, made.token)
print(json.dumps([in_url, made["stdout"], made.status["id"], again["stdout"], again.exit_code]))`,
    printed: [401, "x\n", 3, "x\n", 0],
  },
  {
    packages: ["aiopyston==1.2.1"],
    module: "pyston",
    script: `import asyncio, json, sys
from pyston import File, PystonClient

async def main():
    client = PystonClient(api_key=sys.argv[2], base_url=sys.argv[1] + "/piston/api/v2/")
    files = [File("import часть\\nprint(input(), open('my data.txt').read(), часть.X)", "my program.py"),
             File("one", "my data.txt"), File("X = 1", "часть.py")]
    ran = [str(await client.execute("python", files, stdin="5")),
           str(await client.execute("c", [File('#include <stdio.h>\\nint main(void) { puts("c"); }')]))]
    print(json.dumps([[one.language for one in await client.get_runtimes("py")], ran]))
    await client.close_session()

asyncio.run(main())`,
    printed: [["python"], ["5 one 1\n", "c\n"]],
  },
];

/** What a client needs that is installed without its dependencies, because it names tools for its own releases among them. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  judge0_api_wrapper: ["requests==2.34.2", "furl==2.1.3", "pydantic==2.14.4"],
};

for (const { packages, module, script, printed } of CLIENTS)
  test(`${packages.at(-1)} works unmodified`, { timeout: 240_000 }, async (t) => {
    const needed = NEEDED[module] ?? [];
    const directories = [packages, ...(needed.length > 0 ? [needed] : [])].map((list, at) =>
      installFromPypi(t, list, at === 0 ? module : "requests"),
    );
    if (directories.includes(null)) {
      const reason = `NOT TESTED: there is no pip, or PyPI does not answer, so ${packages.at(-1)} cannot be had`;
      console.error(reason);
      return t.skip(reason);
    }
    const { service, data, key } = product();
    const authority = join(data, "tls", "server.pem");
    const env = {
      PATH: process.env.PATH,
      PYTHONPATH: directories.join(":"),
      PYTHONDONTWRITEBYTECODE: "1",
      SSL_CERT_FILE: authority,
      REQUESTS_CA_BUNDLE: authority,
    };
    const args = ["-c", script, `https://127.0.0.1:${service.port}`, key];
    const { stdout } = await promisify(execFile)("python3", args, { env, timeout: 120_000 });
    assert.deepEqual(JSON.parse(stdout), printed);
  });
