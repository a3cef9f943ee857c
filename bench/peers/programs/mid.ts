import { readFileSync } from "node:fs";

const MOD = 65521;

type Edge = readonly [target: number, weight: number];

class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  below(limit: number): number {
    this.state = (Math.imul(this.state, 1103515245) + 12345) & 0x7fffffff;
    return (this.state >> 8) % limit;
  }
}

function sampleSum(random: Random, count: number): number {
  const values = Array.from({ length: count }, () => random.below(1000000)).sort((a, b) => a - b);
  return values.reduce((sum, value, at) => (at % 7 === 0 ? sum + value : sum), 0);
}

function countPrimes(limit: number): number {
  const composite = new Uint8Array(limit + 1);
  let count = 0;
  for (let n = 2; n <= limit; n++) {
    if (composite[n]) continue;
    count++;
    for (let multiple = n * n; multiple <= limit; multiple += n) composite[multiple] = 1;
  }
  return count;
}

class Heap<T> {
  private readonly items: T[] = [];

  constructor(private readonly less: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.items.length;
  }

  push(item: T): void {
    let at = this.items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.less(this.items[at]!, this.items[parent]!)) break;
      this.swap(at, parent);
      at = parent;
    }
  }

  pop(): T | undefined {
    const top = this.items[0];
    const last = this.items.pop();
    if (this.items.length === 0) return top;
    this.items[0] = last!;
    for (let at = 0; ; ) {
      let child = 2 * at + 1;
      if (child >= this.items.length) return top;
      if (child + 1 < this.items.length && this.less(this.items[child + 1]!, this.items[child]!)) child++;
      if (!this.less(this.items[child]!, this.items[at]!)) return top;
      this.swap(at, child);
      at = child;
    }
  }

  private swap(a: number, b: number): void {
    const kept = this.items[a]!;
    this.items[a] = this.items[b]!;
    this.items[b] = kept;
  }
}

function shortestPaths(random: Random, nodes: number, edges: number): number {
  const graph: Edge[][] = Array.from({ length: nodes }, () => []);
  for (let i = 0; i < edges; i++) {
    const [a, b, weight] = [random.below(nodes), random.below(nodes), 1 + random.below(100)];
    graph[a]!.push([b, weight]);
    graph[b]!.push([a, weight]);
  }
  const distance: number[] = new Array(nodes).fill(-1);
  const heap = new Heap<Edge>((a, b) => a[1] < b[1]);
  heap.push([0, 0]);
  while (heap.size > 0) {
    const [node, soFar] = heap.pop()!;
    if (distance[node]! >= 0) continue;
    distance[node] = soFar;
    for (const [target, weight] of graph[node]!) if (distance[target]! < 0) heap.push([target, soFar + weight]);
  }
  return distance.reduce((sum, d) => (d >= 0 ? sum + d : sum), 0);
}

function frequentWord(random: Random, count: number): [string, number] {
  const words = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    let word = "";
    for (let j = 0; j < 4; j++) word += String.fromCharCode(97 + random.below(4));
    words.set(word, (words.get(word) ?? 0) + 1);
  }
  return [...words].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0]!;
}

function commonSubsequence(random: Random, length: number): number {
  const a = Array.from({ length }, () => random.below(4));
  const b = Array.from({ length }, () => random.below(4));
  const row: number[] = new Array(length + 1).fill(0);
  for (const x of a) {
    let diagonal = 0;
    for (let j = 0; j < length; j++) {
      const above = row[j + 1]!;
      row[j + 1] = x === b[j] ? diagonal + 1 : Math.max(above, row[j]!);
      diagonal = above;
    }
  }
  return row[length]!;
}

type Matrix = number[][];

function multiply(a: Matrix, b: Matrix): Matrix {
  return a.map((line) => line.map((_, j) => line.reduce((sum, value, k) => (sum + value * b[k]![j]!) % MOD, 0)));
}

function traceOfPower(random: Random, size: number, exponent: number): number {
  let base: Matrix = Array.from({ length: size }, () => Array.from({ length: size }, () => random.below(MOD)));
  let result: Matrix = base.map((line, i) => line.map((_, j) => (i === j ? 1 : 0)));
  for (let left = exponent; left > 0; left >>= 1) {
    if (left & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result.reduce((sum, line, i) => (sum + line[i]!) % MOD, 0);
}

class Parser {
  private at = 0;

  constructor(private readonly text: string) {}

  total(): number {
    let value = this.product();
    while (this.text[this.at] === "+") {
      this.at++;
      value = (value + this.product()) % MOD;
    }
    return value;
  }

  private product(): number {
    let value = this.atom();
    while (this.text[this.at] === "*") {
      this.at++;
      value = (value * this.atom()) % MOD;
    }
    return value;
  }

  private atom(): number {
    let value = 0;
    if (this.text[this.at] === "(") {
      this.at++;
      value = this.total();
      this.at++;
      return value;
    }
    for (let digit = this.text[this.at]; digit !== undefined && digit >= "0" && digit <= "9"; digit = this.text[++this.at])
      value = value * 10 + Number(digit);
    return value;
  }
}

function expression(random: Random, terms: number): string {
  let text = "1";
  for (let i = 0; i < terms; i++) text += `${"+*"[random.below(2)]}(${random.below(1000)}+${random.below(1000)})`;
  return text;
}

const [size, seed] = readFileSync(0, "utf8").split(" ").map(Number) as [number, number];
const random = new Random(seed);
const whole = Math.floor;
console.log("sample", sampleSum(random, size));
console.log("primes", countPrimes(size * 4));
console.log("paths", shortestPaths(random, whole(size / 10), whole(size / 4)));
console.log("word", ...frequentWord(random, whole(size / 4)));
console.log("common", commonSubsequence(random, whole(size / 50)));
console.log("trace", traceOfPower(random, 6, 1000003));
console.log("value", new Parser(expression(random, whole(size / 20))).total());
let sum = 0;
for (let i = 0; i < size; i++) sum += random.below(1000);
console.log("mean", (sum / size).toFixed(3));
