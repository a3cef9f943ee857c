import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import type { ProfileName } from "../../../src/domain/limits.ts";
import type { WorkFile } from "../../../src/domain/report.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { plan } from "../../../src/worker/plan.ts";

const languages = installedLanguages();
const NOTHING = Buffer.alloc(0);

/** The compile step of a program. @throws if the language has none. */
export function compileStep(
  name: string,
  code: string,
  { files = [], profile = "judge" }: { files?: readonly WorkFile[]; profile?: ProfileName } = {},
  known = languages,
): Step {
  const language = known.resolve(name);
  const options = { files, entry: null, args: [], env: {}, limits: {} };
  const program = { code: Buffer.from(code), stdin: NOTHING, options };
  const compile = language && plan(language, known.limitsFor(language, profile), program).compile;
  if (!compile) throw new Error(`${name} has no compile step`);
  return compile;
}

/** The compile step of Judge0's language 89 with this script. */
export function multiFile(script: string, files: readonly WorkFile[], profile: ProfileName): Step {
  return compileStep("multifile", ":\n", {
    files: [...files, { name: "compile", data: Buffer.from(script) }],
    profile,
  });
}

const repeated = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join("\n");

/** Includes itself twice at each of 150 levels. */
const INCLUDES = [
  "#if __INCLUDE_LEVEL__ < 150",
  "#include __FILE__",
  "#include __FILE__",
  "#endif",
  "#if __INCLUDE_LEVEL__ == 0",
  "int main(void) { return 0; }",
  "#endif",
].join("\n");

/** Each instance is evaluated by the compiler and stays just below its limit of operations. */
const CONSTEXPR = `
template <int N> constexpr unsigned long spin() {
  unsigned long x = N;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 100000; ++j) x = x * 6364136223846793005UL + 1;
  return x;
}
${repeated(32, (n) => `static_assert(spin<${n}>() != 1);`)}
int main() {}
`;

/** Types that the compiler has to infer, of calls in lambdas in calls. */
const INFERENCE = `
import java.util.*;
import java.util.stream.*;
import static java.util.stream.Collectors.*;
public class Main {
${repeated(
  1_500,
  (n) =>
    `  static Object f${n}(List<String> list) { return list.stream().map(x -> Map.entry(x, x.length() + ${n})).collect(groupingBy(e -> e.getValue() % 7, TreeMap::new, mapping(e -> Stream.of(e.getKey()).collect(toMap(k -> k, k -> Optional.of(k).map(o -> List.of(o, o + ${n})).orElseGet(ArrayList::new))), collectingAndThen(toList(), l -> l.stream().flatMap(m -> m.entrySet().stream()).sorted(Comparator.comparing(m -> m.getKey())).collect(partitioningBy(m -> m.getValue().size() > ${n % 9})))))); }`,
)}
  public static void main(String[] args) {}
}
`;

/** Functions that the optimiser takes long for. */
const GO_FUNCTION = (n: number) => `func f${n}(a []int, x int) int {
	for i := range a {
		switch {
${repeated(16, (k) => `		case x%${k + 2} == ${n % (k + 2)}:\n			for j := i; j < len(a); j++ { x += a[j]*${k} ^ a[i]; if x < j { a[j], a[i] = x, a[j] } }`)}
		}
	}
	return x
}`;
const GO = `package main\n\n${repeated(600, GO_FUNCTION)}\n\nfunc main() {}\n`;

const CONST_EVALUATION = `
#![allow(long_running_const_eval)]
const fn spin() -> u64 {
    let (mut i, mut x) = (0u64, 1u64);
    while i < 1_000_000_000_000 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(i);
        i += 1;
    }
    x
}
const X: u64 = spin();
fn main() { println!("{}", X); }
`;

/** Compares unions of ten thousand texts, again and again. */
const UNIONS = `
type D = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";
type All<P extends string> = \`\${P}\${D}\${D}\${D}\${D}\`;
type Turned<T extends string> = T extends \`\${infer A}\${infer B}\` ? \`\${B}\${A}\` : never;
${repeated(200, (n) => `const v${n}: Turned<All<"${n}">> = "${n}" as Turned<Turned<All<"x${n}">>>;`)}
`;

const COFFEE = repeated(
  20_000,
  (n) => `f${n} = (x) -> if x > ${n} then ((y) -> x + y) else ("#{i}#{x}" for i in [x..${n}] when i % 3)`,
);

const ERLANG = `-module(main).
-export([main/1]).
main(_) -> ok.
${repeated(3_000, (n) => `f${n}(X, Y) -> case {X, Y} of {${n}, [A, B | C]} when A > B -> [f${n}(I, C) || I <- C, I rem ${n + 1} > 3]; {_, <<A:7, B/bitstring>>} -> {A, B}; {{A, B}, C} -> A + B * C; _ -> X end.`)}
`;

const PASCAL = `program main;
var a: array[0..99] of int64; s: ansistring;
${repeated(12_000, (n) => `procedure p${n}; var i: integer; begin for i := 0 to 98 do a[i] := a[i + 1] * ${n} + i div (${n} + 1); str(a[${n % 100}], s); end;`)}
begin end.
`;

/** Sources that keep their compilers busy until a limit ends them, by language. */
export const BUSY_SOURCES: Readonly<Record<string, string>> = {
  c: INCLUDES,
  cpp: CONSTEXPR,
  go: GO,
  java: INFERENCE,
  rust: CONST_EVALUATION,
  typescript: UNIONS,
};

/** Sources that keep compilers busy, by pack: for each pack that the test command adds and that has a compile step. */
export const BUSY_PACK_SOURCES: Readonly<Record<string, string>> = {
  cclang: INCLUDES,
  coffeescript: COFFEE,
  cpp23: CONSTEXPR,
  cppclang: INCLUDES,
  erlang: ERLANG,
  pascal: PASCAL,
};
