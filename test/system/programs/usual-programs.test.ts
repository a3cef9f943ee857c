import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/** Programs as people have them: with what other judges and ordinary machines offer. */
const product = useProduct({ workers: 2 });

type Fields = Readonly<Record<string, unknown>>;

async function outcomeOf(language: string, fields: Fields) {
  return checked(await product().submit({ language, ...fields }));
}

async function prints(language: string, fields: Fields, expected: string | RegExp): Promise<void> {
  const { result, output } = await outcomeOf(language, fields);
  assert.equal(result.verdict, "AC", JSON.stringify({ result, output }));
  if (typeof expected === "string") assert.equal(output.stdout, expected);
  else assert.match(output.stdout, expected);
}

async function fails(language: string, fields: Fields, message: RegExp): Promise<void> {
  const { result, output } = await outcomeOf(language, fields);
  assert.deepEqual([result.verdict, result.cause], ["RE", "compile_error"], JSON.stringify(output));
  assert.match(output.stderr, message);
}

describe("C++ with pragmas above its headers", () => {
  /** The headers are short, so that compilers on a busy machine stay within their limits. */
  const program = [
    "#include <deque>",
    "#include <iostream>",
    "#include <map>",
    "#include <string>",
    "#include <vector>",
    "int main() {",
    '  std::map<std::string, std::vector<int>> m; m["a"] = {1, 2}; std::deque<std::string> d(2); std::vector<bool> b(9);',
    '  std::cout << m["a"].size() << d.size() << b.size();',
    "}",
  ].join("\n");
  for (const pragma of [
    'target("avx2")',
    'target("avx2,bmi,bmi2,lzcnt,popcnt")',
    'target("sse4.2")',
    'optimize("O3,unroll-loops")',
  ])
    test(pragma, () => prints("cpp", { code: `#pragma GCC ${pragma}\n${program}` }, "229"));
  for (const option of ["-std=gnu++17", "-std=c++23", "-O0"])
    test(`target("avx2") with ${option}`, () =>
      prints("cpp", { code: `#pragma GCC target("avx2")\n${program}`, compiler_options: [option] }, "229"));
  test("and all headers", () =>
    prints(
      "cpp",
      {
        profile: "agent",
        code: '#pragma GCC optimize("O3")\n#pragma GCC target("avx2")\n#include <bits/stdc++.h>\nint main() { std::vector<int> v{1}; std::cout << v.size(); }',
      },
      "1",
    ));
});

