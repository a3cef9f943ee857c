import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import { chosenPacks, loadPack } from "../../../src/languages/packs.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { environment } from "../../support/launcher/launcher.ts";
import { useProduct } from "../../support/programs/product.ts";
import { type CompletedRecord, checked } from "../../support/programs/record.ts";
import { withShortCpuTime } from "../matrix/short.ts";
import { HOSTILE } from "./hostile.ts";

/** The packs with which `assay test` built ASSAY_TEST_PACKS_IMAGE. */
const packs = environment("ASSAY_TEST_PACKS");
const checkout = withShortCpuTime(environment("ASSAY_TEST_DATA"));
const product = useProduct({ packs, checkout: () => checkout });
after(() => rmSync(checkout, { recursive: true }));

const chosen = chosenPacks(LANGUAGES, packs).map((name) => loadPack(LANGUAGES, name));
const INPUT = Array.from({ length: 200 }, (_, n) => `line ${n} of the input\n`).join("");
const WRITTEN = "written\n";
const GIVEN = "GIVENTOTHEPROGRAM";
const SECRET = "SECRETOFTHEHOST";
/** A file of the host that all users can read. */
const secret = join(environment("ASSAY_TEST_DATA"), "secret.txt");
before(() => writeFileSync(secret, `${SECRET}\n`, { mode: 0o644 }));
const HOST_PATH = /\/(var|home|root|work)\//;

test("offers every pack and the eight languages, with their versions", async () => {
  const { json } = await product().ask("GET", "/api/languages/details");
  const told = (json as { name: string; label: string }[]).map(({ name, label }) => [name, label]);
  for (const { name, label } of chosen) {
    assert.ok(
      told.some(([known, text]) => known === name && text === label),
      `${name} is not offered: ${product()
        .service.output()
        .match(new RegExp(`[^\n]*"${name}"[^\n]*`, "g"))
        ?.join("\n")}`,
    );
    assert.match(label, /\d/, `the version of ${name}`);
  }
  for (const { name, unlisted } of loadLanguages(LANGUAGES).list())
    assert.equal(
      told.some(([known]) => known === name),
      !unlisted,
      name,
    );
});

describe("each pack", { concurrency: 2 }, () => {
  for (const { name, tests, compile, execute, smokeTest, source } of chosen) {
    describe(name, () => {
      const run = async (code: string, more = {}) => checked(await product().run(name, code, more));
      const ends = ({ result, output }: CompletedRecord, ...expected: readonly unknown[]) =>
        assert.deepEqual(
          [result.verdict, result.cause, result.exit_code, result.signal],
          expected,
          `${result.error_message}\n${output.stdout}${output.stderr}`,
        );

      test("hello is AC", async () => {
        const record = await run(smokeTest.code);
        ends(record, "AC", "normal_exit", 0, null);
        assert.deepEqual([record.output.stdout, record.output.stderr], [smokeTest.stdout, ""]);
      });

      test("ignores a byte order mark at the start of the source", async () => {
        const { output } = await run(`\uFEFF${smokeTest.code}`);
        assert.deepEqual([output.stdout, output.stderr], [smokeTest.stdout, ""]);
      });

      test("returns its input unchanged", async () => {
        const record = await run(tests.echo, { stdin: INPUT });
        ends(record, "AC", "normal_exit", 0, null);
        assert.equal(record.output.stdout, INPUT);
      });

      test("exit code 7 is RE with 7", async () => ends(await run(tests.exitSeven), "RE", "nonzero_exit", 7, null));

      const { facts } = tests;
      if (facts !== undefined)
        test("sees a CPU, a user and an interface", async () => {
          const record = await run(facts);
          ends(record, "AC", "normal_exit", 0, null);
          assert.equal(record.output.stdout, "1 user lo\n");
        });

      const { uncaught } = tests;
      if ("code" in uncaught) {
        test("an uncaught error is on stderr", async () => {
          const record = await run(uncaught.code);
          const { signal = null, exitCode = null } = uncaught;
          ends(record, ...(signal ? ["SIG", "fatal_signal"] : ["RE", "nonzero_exit"]), exitCode, signal);
          assert.ok(record.output.stderr.includes(uncaught.stderr), record.output.stderr);
        });
      }

      test("does not compile", async () => {
        const record = await run(tests.doesNotCompile.code);
        ends(record, "RE", compile ? "compile_error" : "nonzero_exit", tests.doesNotCompile.exitCode, null);
        const { stderr } = record.output;
        assert.ok(compile ? stderr.includes(source.replace(/\..*/, "")) : stderr.length > 0, stderr);
        assert.doesNotMatch(stderr, HOST_PATH);
      });

      test("a busy program is TLE", async () =>
        ends(await run(tests.busy, { profile: "agent" }), "TLE", "cpu_timeout", null, 9));

      test("a program that eats memory is MLE", async () =>
        ends(await run(tests.eatsMemory), "MLE", "oom_kill", null, 9));

      test("exit code 137 is not taken for a kill", async () => {
        const code = tests.exitSeven.replace("7", "137");
        assert.equal(code.replace("137", ""), tests.exitSeven.replace(/7/g, ""), "exitSeven has one 7");
        ends(await run(code), "RE", "nonzero_exit", 137, null);
      });

      const copies = async (to: string, from: string) =>
        run(tests.copies.replaceAll("{to}", to).replaceAll("{from}", from));
      test("reads and writes its own files, but not those of an earlier run", async () => {
        const record = await copies("/tmp/left", "/tmp/left");
        ends(record, "AC", "normal_exit", 0, null);
        assert.equal(record.output.stdout, WRITTEN);
        const { output } = await copies("/box/new", "/tmp/left");
        assert.ok(!output.stdout.includes("written"), output.stdout);
      });

      test("reads no file of the host", async () => {
        const { output } = await copies("/box/new", secret);
        assert.ok(!output.stdout.includes(SECRET), output.stdout);
      });

      for (const tool of new Set([compile ?? execute, execute].map(({ command }) => command[0])))
        if (tool.startsWith("/"))
          test(`does not replace ${tool} for later runs`, async () => {
            const { output } = await copies(tool, tool);
            assert.notEqual(output.stdout, WRITTEN);
          });

      const { includes } = tests;
      if (typeof includes === "string")
        test("its compiler shows files of the box, but none of the host", async () => {
          const shown = async (from: string) => {
            const { output } = await run(includes.replaceAll("{from}", from), { files: { "given.txt": `${GIVEN}\n` } });
            return output.stdout + output.stderr;
          };
          assert.match(await shown("/box/given.txt"), new RegExp(GIVEN, "i"));
          assert.doesNotMatch(await shown(secret), new RegExp(SECRET, "i"));
        });

      const { shell } = tests;
      if (typeof shell !== "string") return;
      for (const { title, script, ends: possible, stdout, leaves, twice, floods } of HOSTILE)
        test(title, async () => {
          for (let time = 0; time < (twice ? 2 : 1); time++) {
            const { result, output, evidence } = await run(shell, { files: { "attack.sh": script } });
            const { verdict, cause, exit_code, signal } = result;
            const seen = `${result.error_message}\n${output.stdout.slice(0, 2_000)}${output.stderr.slice(0, 2_000)}`;
            assert.match(`${verdict} ${cause} ${exit_code} ${signal}`, possible, seen);
            if (stdout !== undefined && exit_code === 7) assert.equal(output.stdout, stdout, seen);
            if (leaves) assert.ok(evidence.teardown.judge_actions?.length, "the processes that it left were ended");
            if (floods && verdict === "RE") assert.equal(output.integrity, "truncated_by_judge_limit");
          }
        });
    });
  }
});
