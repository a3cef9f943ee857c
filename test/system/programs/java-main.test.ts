import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const MAIN = "public static void main(String[] args) { System.out.println(new Throwable().getStackTrace()[0]); }";

/** Programs, and the frame of the stack that they print: class, method and source. */
const PROGRAMS: readonly (readonly [string, string, string])[] = [
  ["Main", `public class Main { ${MAIN} }`, "Main.main(Main.java:1)"],
  ["a public class with another name than the file", `public class Sum { ${MAIN} }`, "Sum.main(Main.java:1)"],
  ["a class that is not public", `class Solution { ${MAIN} }`, "Solution.main(Main.java:1)"],
  ["a package", `package p.q; public class Main { ${MAIN} }`, "p.q.Main.main(Main.java:1)"],
  ["a class behind others", `class Helper {} final class Task { ${MAIN} }`, "Task.main(Main.java:1)"],
  ["an inherited main", `abstract class Base { ${MAIN} } public class Sub extends Base {}`, "Base.main(Main.java:1)"],
  ["varargs", `class Sum { ${MAIN.replace("String[]", "final String...")} }`, "Sum.main(Main.java:1)"],
  ["an interface", `interface Sum { ${MAIN} }`, "Sum.main(Main.java:1)"],
  ["an enum", `enum Sum { ONE; ${MAIN} }`, "Sum.main(Main.java:1)"],
  ["a record", `record Sum(int one) { ${MAIN} }`, "Sum.main(Main.java:1)"],
  ["a nested class", `public class Sum { static class Inner { ${MAIN} } }`, "Sum$Inner.main(Main.java:1)"],
  ["Main before others", `public class Other { ${MAIN} } class Main { ${MAIN} }`, "Main.main(Main.java:1)"],
  ["another class if Main has no main", `class Main {} class Other { ${MAIN} }`, "Other.main(Main.java:1)"],
  ["the public class", `class One { ${MAIN} } public class Two { ${MAIN} }`, "Two.main(Main.java:1)"],
  ["the first class", `class One { ${MAIN} } class Two { ${MAIN} }`, "One.main(Main.java:1)"],
  [
    "a main with another signature is no main",
    `class One { static void main(String[] a) {} } class Two { public static int main(String[] a) { return 1; } } class Three { ${MAIN} }`,
    "Three.main(Main.java:1)",
  ],
  ["a name in Unicode", `public class Zähler { ${MAIN} }`, "Zähler.main(Main.java:1)"],
  ["a byte order mark", `\uFEFFpublic class Main { ${MAIN} }`, "Main.main(Main.java:1)"],
];

/** Programs of several files: name, entry, files, and the frame. */
const SEVERAL: readonly (readonly [string, string, Readonly<Record<string, string>>, string])[] = [
  ["a file whose name is in lower case", "sol.java", { "sol.java": `class Main { ${MAIN} }` }, "Main.main(sol.java:1)"],
  [
    "a file whose name is no identifier",
    "foo-bar.java",
    { "foo-bar.java": `public class Main { ${MAIN} }` },
    "Main.main(foo-bar.java:1)",
  ],
  [
    "the class that is named as the file",
    "Sum.java",
    { "Sum.java": `public class Main { ${MAIN} } class Sum { ${MAIN} }` },
    "Sum.main(Sum.java:1)",
  ],
  [
    "the entry before Main in another file",
    "p/Sum.java",
    { "p/Sum.java": `package p; public class Sum { ${MAIN} }`, "Main.java": `public class Main { ${MAIN} }` },
    "p.Sum.main(Sum.java:1)",
  ],
  [
    "a package that is not the directory",
    "src/solution.java",
    { "src/solution.java": `package org.site; public class Start { ${MAIN} }` },
    "org.site.Start.main(solution.java:1)",
  ],
  [
    "a class that no other class names",
    "Helper.java",
    { "Helper.java": "class Helper {}", "lib/work.java": `class Work { ${MAIN} }` },
    "Work.main(work.java:1)",
  ],
];

for (const parked of [false, true]) {
  describe(`Java starts the class with main${parked ? ", in a runtime that waits" : ""}`, () => {
    const product = useProduct({ workers: 1, parked });
    for (const [title, code, frame] of PROGRAMS)
      test(title, async () => {
        const { result, output } = checked(await product().run("java", code));
        assert.deepEqual([result.verdict, output.stdout, output.stderr], ["AC", `${frame}\n`, ""]);
      });
  });
}

describe("Java starts the class with main of several files", () => {
  const product = useProduct({ workers: 1 });
  const submit = (body: object) => product().submit({ language: "java", ...body });
  for (const [title, entry, files, frame] of SEVERAL)
    test(title, async () => {
      const { result, output } = checked(await submit({ entry, files }));
      assert.deepEqual([result.verdict, output.stdout, output.stderr], ["AC", `${frame}\n`, ""]);
    });

  test("with arguments and variables", async () => {
    const code =
      'class Sum { public static void main(String[] a) { System.out.print(a[0] + System.getenv("X") + System.getProperty("sun.java.command")); } }';
    const { output } = checked(await submit({ code, args: ["one"], env: { X: "two" } }));
    assert.equal(output.stdout, "onetwoSum one");
  });

  test("and says which class has no main", async () => {
    const { result, output } = checked(await submit({ code: "class Helper {} public class Sum {}" }));
    assert.equal(result.verdict, "RE");
    assert.match(output.stderr, /Main method not found in class Sum/);
  });

  test("but a program can start another class with the options of its own JVM", async () => {
    const code = [
      "import java.util.*;",
      "public class Sum {",
      "  public static void main(String[] a) throws Exception {",
      "    var words = new ArrayList<String>(List.of(ProcessHandle.current().info().command().get()));",
      "    words.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());",
      '    words.addAll(List.of("-cp", ".", "Child"));',
      "    System.exit(new ProcessBuilder(words).inheritIO().start().waitFor());",
      "  }",
      "}",
      'class Child { public static void main(String[] a) { System.out.println("child"); } }',
    ].join("\n");
    const { output } = checked(await submit({ code }));
    assert.deepEqual([output.stdout, output.stderr], ["child\n", ""]);
  });
});
