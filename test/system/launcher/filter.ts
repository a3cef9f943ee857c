import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** The launcher's seccomp filter of one architecture, printed by test/system/launcher/filter.c. */
export interface Filter {
  /** AUDIT_ARCH_* of the architecture. */
  readonly arch: number;
  /** The argument with which a slot makes calls that programs may not make. */
  readonly key: string;
  readonly allowed: readonly (readonly [name: string, number: number])[];
  /** The key is the argument with the index `key`, or -1: the call has none. */
  readonly refused: readonly (readonly [name: string, number: number, errno: number, key: number])[];
  readonly rules: readonly Rule[];
  readonly program: readonly (readonly [code: number, jt: number, jf: number, k: number])[];
}

/** A RULE row of seccomp.def. */
export interface Rule {
  readonly name: string;
  readonly number: number;
  /** The argument of the condition; -1 for none. */
  readonly when: number;
  readonly whenValue: number;
  readonly argument: number;
  readonly kind: "ONE_OF" | "NONE_OF" | "NO_BIT_BUT" | "NO_BIT_OF" | "BELOW";
  readonly errno: number;
  readonly values: readonly number[];
}

export interface Toolchain {
  readonly compiler: string;
  /** The command that runs a program built by that compiler. */
  readonly run: readonly string[];
}

/**
 * Columns of seccomp.def as in launcher/seccomp.h. A sandbox is `full` where its sockets and locks are bounded. A `holder` has the filter of such a sandbox
 * with a network, under which no program runs.
 */
const COLUMNS = { submission: 0, sandbox: 1, full: 7, holder: 15 };

/** Compiles and runs filter.c. @param whose the programs for which the filter is. */
export function filterOf(
  { compiler, run }: Toolchain,
  directory: string,
  whose: keyof typeof COLUMNS = "submission",
): Filter {
  const here = import.meta.dirname;
  const built = join(directory, "filter");
  const sources = [join(here, "filter.c"), join(here, "../../../launcher/failure.c")];
  execFileSync(compiler, ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static", ...sources, "-o", built]);
  const [first = built, ...more] = [...run, built, String(COLUMNS[whose])];
  return JSON.parse(execFileSync(first, more, { encoding: "utf8" })) as Filter;
}

/** Every call in the kernel headers of an architecture. */
export function callsInHeaders({ compiler }: Toolchain): ReadonlyMap<string, number> {
  const macros = new Map<string, string>();
  const text = execFileSync(compiler, ["-E", "-dM", "-"], { input: "#include <asm/unistd.h>\n", encoding: "utf8" });
  for (const [, name = "", value = ""] of text.matchAll(/^#define (__NR\w+) (.+)$/gm)) macros.set(name, value);
  const numberOf = (text: string): number => (macros.has(text) ? numberOf(macros.get(text) as string) : Number(text));
  const calls = [...macros.keys()].filter((name) => name.startsWith("__NR_") && name !== "__NR_syscalls");
  return new Map(calls.map((name) => [name.slice("__NR_".length), numberOf(name)]));
}

export interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly (number | bigint)[];
}

const ALLOW = 0x7fff_0000;
const ERRNO = 0x0005_0000;

/** The answer to a call that is skipped and returns 0. */
export const DONE = -1;

/**
 * The filter's answer to a call: 0 if it is allowed, else the errno or DONE. Interprets only the classic BPF
 * instructions that such filters use.
 * @throws on any other instruction or return value, and on a jump out of the program.
 */
export function answer({ program }: Filter, { arch, number, args = [] }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [i, arg] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(arg)), 16 + 8 * i);
  let loaded = 0;
  let index = 0;
  for (let at = 0; ; at++) {
    const instruction = program[at];
    if (!instruction) throw new Error(`the filter has no instruction ${at}`);
    const [code, jt, jf, k] = instruction;
    if (code === 0x20) loaded = data.readUInt32LE(k);
    else if (code === 0xa4) loaded = (loaded ^ k) >>> 0;
    else if (code === 0x4c) loaded = (loaded | index) >>> 0;
    else if (code === 0x07) index = loaded;
    else if (code === 0x05) at += k;
    else if (code === 0x15) at += loaded === k ? jt : jf;
    else if (code === 0x35) at += loaded >= k ? jt : jf;
    else if (code === 0x45) at += (loaded & k) !== 0 ? jt : jf;
    else if (code === 0x06 && k === ALLOW) return 0;
    else if (code === 0x06 && (k & 0xffff_0000) === ERRNO) return k & 0xffff || DONE;
    else throw new Error(`instruction ${at} is ${code} ${k}`);
  }
}

const lower = (value: number | bigint | undefined) => Number(BigInt.asUintN(32, BigInt(value ?? 0)));

function holds({ kind, values }: Rule, argument: number | bigint | undefined): boolean {
  const [bits = 0] = values;
  const value = lower(argument);
  if (kind === "BELOW") return BigInt.asUintN(64, BigInt(argument ?? 0)) < BigInt(bits);
  if (kind === "ONE_OF") return values.includes(value);
  if (kind === "NONE_OF") return !values.includes(value);
  return (value & (kind === "NO_BIT_OF" ? bits : ~bits)) === 0;
}

/** The RULE row that refuses a call, according to the list and not to the program. */
export function brokenRule({ rules }: Filter, { number, args = [] }: Omit<Call, "arch">): Rule | undefined {
  return rules.find(
    (rule) =>
      rule.number === number &&
      (rule.when < 0 || lower(args[rule.when]) === rule.whenValue) &&
      !holds(rule, args[rule.argument]),
  );
}

/** The answer of a call's RULE rows to its arguments. */
export function answerOfRules(filter: Filter, call: Omit<Call, "arch">): number {
  const broken = brokenRule(filter, call);
  return broken ? broken.errno || DONE : 0;
}
