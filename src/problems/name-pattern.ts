/**
 * Matches names of files with regular expressions of a package, in the syntax of Python. Each pair of an instruction and a position is
 * tried once, so the time is bounded by the product of both lengths, and no expression of a stranger can take exponential time. A
 * budget bounds the time for all names together.
 */

/** Why an expression cannot be used. */
export class PatternError extends Error {}

const MAX_PATTERN = 400;
/** The most instructions: each repetition with a count has as many copies of its content. */
const MAX_INSTRUCTIONS = 2_000;
const MAX_DEPTH = 30;
/** The most steps for all names. A thousand names with a usual expression take a million. */
const MAX_STEPS = 30_000_000;

type Test = (char: string) => boolean;
type Node =
  | { readonly is: "char"; readonly test: Test }
  | { readonly is: "all" | "any"; readonly parts: readonly Node[] }
  | { readonly is: "repeat"; readonly of: Node; readonly least: number; readonly most: number; readonly lazy: boolean }
  | { readonly is: "group"; readonly number: number; readonly of: Node }
  | { readonly is: "look"; readonly of: Node; readonly negated: boolean }
  | { readonly is: "edge"; readonly edge: Edge };
type Edge = "start" | "end" | "word" | "inside";

type Instruction =
  | { readonly do: "char"; readonly test: Test }
  | { readonly do: "split"; readonly first: number; readonly second: number }
  | { readonly do: "save"; readonly slot: number }
  | { readonly do: "look"; readonly program: readonly Instruction[]; readonly negated: boolean }
  | { readonly do: "edge"; readonly edge: Edge }
  | { readonly do: "match" };

/** The groups with names of a match; a group that takes no part in it is null. */
export type Match = ReadonlyMap<string, string | null>;

/** Steps that are left for all names of a package. */
export class Budget {
  #left = MAX_STEPS;

  /** @throws PatternError */
  spend(): void {
    if (--this.#left < 0) throw new PatternError("takes too long for so many and so long names");
  }
}

/**
 * @returns a function that matches the beginning of a name, without regard to case, and returns null if it does not match.
 * @throws PatternError if the expression is wrong, too large or has a part that is not supported, such as a reference to a group.
 */
export function namePattern(source: string, budget: Budget): (name: string) => Match | null {
  const { node, groups } = new Parser(source).parse();
  const program = compile(node);
  return (name) => {
    const chars = [...name];
    const slots = run(program, chars, 0, budget);
    if (!slots) return null;
    const text = (number: number) => {
      const [from, to] = [slots[2 * number], slots[2 * number + 1]];
      return from === undefined || to === undefined ? null : chars.slice(from, to).join("");
    };
    return new Map([...groups].map(([group, number]) => [group, text(number)]));
  };
}

class Parser {
  readonly #chars: readonly string[];
  #at = 0;
  #depth = 0;
  #number = 0;
  readonly #groups = new Map<string, number>();

  constructor(source: string) {
    if (source.length > MAX_PATTERN) throw new PatternError(`has more than ${MAX_PATTERN} characters`);
    this.#chars = [...source];
  }

  parse(): { readonly node: Node; readonly groups: ReadonlyMap<string, number> } {
    const node = this.#alternatives();
    if (this.#at < this.#chars.length) throw new PatternError("has a ) too many");
    return { node, groups: this.#groups };
  }

  #takes(text: string): boolean {
    const found = this.#chars.slice(this.#at, this.#at + text.length).join("") === text;
    if (found) this.#at += text.length;
    return found;
  }

  #next(): string {
    const char = this.#chars[this.#at++];
    if (char === undefined) throw new PatternError("ends too early");
    return char;
  }

  #alternatives(): Node {
    if (++this.#depth > MAX_DEPTH) throw new PatternError("is nested too deep");
    const parts = [this.#sequence()];
    while (this.#takes("|")) parts.push(this.#sequence());
    this.#depth--;
    return { is: "any", parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#chars.length && !["|", ")"].includes(this.#chars[this.#at] ?? ""))
      parts.push(this.#repeated());
    return { is: "all", parts };
  }

  #repeated(): Node {
    const of = this.#atom();
    const bounds = this.#bounds();
    if (!bounds) return of;
    if (of.is === "edge" || of.is === "look") throw new PatternError("repeats something without a length");
    const lazy = this.#takes("?");
    if (this.#takes("+") || this.#bounds()) throw new PatternError("has a repetition of a repetition");
    return { is: "repeat", of, ...bounds, lazy };
  }

  #bounds(): { readonly least: number; readonly most: number } | null {
    if (this.#takes("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.#takes("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.#takes("?")) return { least: 0, most: 1 };
    const rest = this.#chars.slice(this.#at, this.#at + 16).join("");
    const [whole, least = "", comma, most = ""] = /^\{(\d{0,4})(,?)(\d{0,4})\}/.exec(rest) ?? [];
    if (whole === undefined || (least === "" && most === "")) return null; // in Python, too, the brace then stands for itself
    this.#at += whole.length;
    const bounds = { least: Number(least), most: most === "" ? Number.POSITIVE_INFINITY : Number(most) };
    if (comma === "") return { least: bounds.least, most: bounds.least };
    if (bounds.most < bounds.least) throw new PatternError(`has the repetition ${whole}`);
    return bounds;
  }

  #atom(): Node {
    const char = this.#next();
    if (char === "(") return this.#group();
    if (char === "[") return { is: "char", test: this.#set() };
    if (char === ".") return { is: "char", test: (other) => other !== "\n" };
    if (char === "^") return { is: "edge", edge: "start" };
    if (char === "$") return { is: "edge", edge: "end" };
    if (char === "\\") return this.#escape();
    if (["*", "+", "?"].includes(char)) throw new PatternError(`has a ${char} that repeats nothing`);
    return { is: "char", test: same(char) };
  }

  #group(): Node {
    if (this.#takes("?=")) return { is: "look", negated: false, of: this.#inside() };
    if (this.#takes("?!")) return { is: "look", negated: true, of: this.#inside() };
    if (this.#takes("?:")) return this.#inside();
    const number = ++this.#number;
    if (this.#takes("?P<")) {
      let name = "";
      for (let char = this.#next(); char !== ">"; char = this.#next()) name += char;
      if (!/^[A-Za-z_]\w*$/.test(name) || this.#groups.has(name)) throw new PatternError("has a wrong name of a group");
      this.#groups.set(name, number);
    } else if (this.#takes("?")) throw new PatternError(`has a group (?${this.#next()}, which is not supported`);
    return { is: "group", number, of: this.#inside() };
  }

  #inside(): Node {
    const of = this.#alternatives();
    if (!this.#takes(")")) throw new PatternError("has a ( too many");
    return of;
  }

  #escape(): Node {
    const char = this.#next();
    const edges: Readonly<Record<string, Edge>> = { A: "start", Z: "end", b: "word", B: "inside" };
    const edge = Object.hasOwn(edges, char) ? edges[char] : undefined;
    if (edge) return { is: "edge", edge };
    return { is: "char", test: escaped(char) };
  }

  #set(): Test {
    const negated = this.#takes("^");
    const tests: Test[] = [];
    for (let first = true; first || !this.#takes("]"); first = false) {
      const from = this.#next();
      if (from === "\\") {
        tests.push(escaped(this.#next()));
        continue;
      }
      const isRange = this.#chars[this.#at] === "-" && ![undefined, "]"].includes(this.#chars[this.#at + 1]);
      if (!isRange) {
        tests.push(same(from));
        continue;
      }
      this.#at++;
      const to = this.#next();
      if (to === "\\" || to < from) throw new PatternError("has a wrong range of characters");
      const within = (char: string) => char >= from && char <= to;
      tests.push((char) => within(char) || within(char.toLowerCase()) || within(char.toUpperCase()));
    }
    return (char) => tests.some((test) => test(char)) !== negated;
  }
}

function same(char: string): Test {
  const lower = char.toLowerCase();
  return (other) => other === char || other.toLowerCase() === lower;
}

/** Sets of characters, which a capital letter negates. */
const SETS: Readonly<Record<string, RegExp>> = { d: /\d/, w: /[\p{L}\p{N}_]/u, s: /\s/ };

function escaped(char: string): Test {
  const set = SETS[char.toLowerCase()];
  if (set) return (other) => set.test(other) === (char === char.toLowerCase());
  if (/[A-Za-z0-9]/.test(char)) throw new PatternError(`has \\${char}, which is not supported`);
  return same(char);
}

/** @param size the instructions of the whole expression so far. */
function compile(node: Node, size = { instructions: 0 }): readonly Instruction[] {
  const program: Instruction[] = [];
  const add = (instruction: Instruction) => {
    if (++size.instructions > MAX_INSTRUCTIONS) throw new PatternError("is too large");
    return program.push(instruction) - 1;
  };
  /** Adds an instruction whose targets are set later. */
  const reserve = () => add({ do: "match" });
  const split = (at: number, first: number, second: number, lazy = false) => {
    program[at] = lazy ? { do: "split", first: second, second: first } : { do: "split", first, second };
  };
  const emit = (one: Node): void => {
    switch (one.is) {
      case "char":
        add({ do: "char", test: one.test });
        return;
      case "edge":
        add({ do: "edge", edge: one.edge });
        return;
      case "look":
        add({ do: "look", program: compile(one.of, size), negated: one.negated });
        return;
      case "group":
        add({ do: "save", slot: 2 * one.number });
        emit(one.of);
        add({ do: "save", slot: 2 * one.number + 1 });
        return;
      case "all":
        for (const part of one.parts) emit(part);
        return;
      case "any": {
        const ends: number[] = [];
        for (const [at, part] of one.parts.entries()) {
          const isLast = at === one.parts.length - 1;
          const choice = isLast ? -1 : reserve();
          emit(part);
          if (isLast) break;
          ends.push(reserve());
          split(choice, choice + 1, program.length);
        }
        for (const end of ends) split(end, program.length, program.length);
        return;
      }
      case "repeat": {
        for (let n = 0; n < one.least; n++) emit(one.of);
        if (one.most === Number.POSITIVE_INFINITY) {
          const choice = reserve();
          emit(one.of);
          const back = reserve();
          split(back, choice, choice);
          split(choice, choice + 1, program.length, one.lazy);
          return;
        }
        const choices: number[] = [];
        for (let n = one.least; n < one.most; n++) {
          choices.push(reserve());
          emit(one.of);
        }
        for (const choice of choices) split(choice, choice + 1, program.length, one.lazy);
      }
    }
  };
  emit(node);
  add({ do: "match" });
  return program;
}

/** Positions of the beginnings and ends of groups by slot; null if the expression does not match. */
type Slots = readonly (number | undefined)[];

function run(program: readonly Instruction[], chars: readonly string[], start: number, budget: Budget): Slots | null {
  const tried = new Uint8Array(program.length * (chars.length + 1));
  const stack: { readonly at: number; readonly position: number; readonly slots: Slots }[] = [];
  stack.push({ at: 0, position: start, slots: [] });
  for (let state = stack.pop(); state; state = stack.pop()) {
    let { at, position, slots } = state;
    for (;;) {
      budget.spend();
      const key = at * (chars.length + 1) + position;
      if (tried[key] === 1) break;
      tried[key] = 1;
      const instruction = program[at] as Instruction;
      if (instruction.do === "match") return slots;
      if (instruction.do === "split") {
        stack.push({ at: instruction.second, position, slots });
        at = instruction.first;
        continue;
      }
      const char = chars[position];
      if (instruction.do === "char") {
        if (char === undefined || !instruction.test(char)) break;
        position++;
      } else if (instruction.do === "save") {
        const saved = [...slots];
        saved[instruction.slot] = position;
        slots = saved;
      } else if (instruction.do === "edge") {
        if (!isAt(instruction.edge, chars, position)) break;
      } else if ((run(instruction.program, chars, position, budget) !== null) === instruction.negated) break;
      at++;
    }
  }
  return null;
}

function isAt(edge: Edge, chars: readonly string[], position: number): boolean {
  if (edge === "start") return position === 0;
  if (edge === "end") return position === chars.length;
  const isWord = (char: string | undefined) => char !== undefined && (SETS.w as RegExp).test(char);
  return (isWord(chars[position - 1]) !== isWord(chars[position])) === (edge === "word");
}
