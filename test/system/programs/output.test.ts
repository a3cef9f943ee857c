import assert from "node:assert/strict";
import { test } from "node:test";
import { residentBytes, source, useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const MIB = 1_048_576;

const product = useProduct();

test("cuts 50 MB of output at the limit, reports it, and keeps the verdict and the service's memory size", async () => {
  const flood = async () => {
    const { result, output } = checked(await product().run("python", source("python", "floods-stdout")));
    assert.equal(result.verdict, "AC");
    assert.equal(output.integrity, "truncated_by_judge_limit");
    assert.equal(output.stdout.length, MIB);
  };
  const pid = product().service.process.pid as number;
  for (let i = 0; i < 15; i++) await flood(); // warms up buffers and heap
  // Ten floods are 500 MB. If the service kept part of them, each batch would exceed this bound. Memory that the garbage collector
  // has not freed yet exceeds it in one batch at most.
  const growths: number[] = [];
  while (growths.length < 3 && growths.every((growth) => growth >= 48 * MIB)) {
    const before = residentBytes(pid);
    for (let i = 0; i < 10; i++) await flood();
    growths.push(residentBytes(pid) - before);
  }
  const texts = growths.map((growth) => `${(growth / MIB).toFixed(1)} MiB`);
  assert.ok(
    growths.some((growth) => growth < 48 * MIB),
    `grew by ${texts.join(", ")}`,
  );
});

test("decodes output that is not UTF-8 with replacement characters", async () => {
  const code = "import sys\nsys.stdout.buffer.write(b'a\\xffb\\xe2\\x82')\n";
  const { output } = checked(await product().run("python", code));
  assert.equal(output.stdout, "a\ufffdb\ufffd");
  assert.equal(output.integrity, "complete");
});

test("the record of a program that is killed while it writes reports incomplete output", async () => {
  const { result, output } = checked(await product().run("python", "while True:\n    print('x')\n"));
  assert.equal(result.verdict, "TLE");
  assert.ok(["crash_mid_write", "truncated_by_judge_limit"].includes(output.integrity), output.integrity);
});
