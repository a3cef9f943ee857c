"use strict";
const MOD = 65521;

class Random {
  constructor(seed) {
    this.state = seed;
  }

  below(limit) {
    this.state = (Math.imul(this.state, 1103515245) + 12345) & 0x7fffffff;
    return (this.state >> 8) % limit;
  }
}

function sampleSum(random, count) {
  const values = Array.from({ length: count }, () => random.below(1000000)).sort((a, b) => a - b);
  return values.reduce((sum, value, at) => (at % 7 === 0 ? sum + value : sum), 0);
}

function countPrimes(limit) {
  const composite = new Uint8Array(limit + 1);
  let count = 0;
  for (let n = 2; n <= limit; n++) {
    if (composite[n]) continue;
    count++;
    for (let multiple = n * n; multiple <= limit; multiple += n) composite[multiple] = 1;
  }
  return count;
}

class Heap {
  constructor() {
    this.items = [];
  }

  push(item) {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent][0] <= items[at][0]) break;
      [items[parent], items[at]] = [items[at], items[parent]];
      at = parent;
    }
  }

  pop() {
    const { items } = this;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0) return top;
    items[0] = last;
    for (let at = 0; ; ) {
      let child = 2 * at + 1;
      if (child >= items.length) return top;
      if (child + 1 < items.length && items[child + 1][0] < items[child][0]) child++;
      if (items[at][0] <= items[child][0]) return top;
      [items[child], items[at]] = [items[at], items[child]];
      at = child;
    }
  }
}

function shortestPaths(random, nodes, edges) {
  const graph = Array.from({ length: nodes }, () => []);
  for (let i = 0; i < edges; i++) {
    const [a, b, weight] = [random.below(nodes), random.below(nodes), 1 + random.below(100)];
    graph[a].push([b, weight]);
    graph[b].push([a, weight]);
  }
  const distance = new Array(nodes).fill(-1);
  const heap = new Heap();
  heap.push([0, 0]);
  while (heap.items.length > 0) {
    const [soFar, node] = heap.pop();
    if (distance[node] >= 0) continue;
    distance[node] = soFar;
    for (const [target, weight] of graph[node]) if (distance[target] < 0) heap.push([soFar + weight, target]);
  }
  return distance.reduce((sum, d) => (d >= 0 ? sum + d : sum), 0);
}

function frequentWord(random, count) {
  const words = new Map();
  for (let i = 0; i < count; i++) {
    let word = "";
    for (let j = 0; j < 4; j++) word += String.fromCharCode(97 + random.below(4));
    words.set(word, (words.get(word) ?? 0) + 1);
  }
  return [...words].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0];
}

function commonSubsequence(random, length) {
  const a = Array.from({ length }, () => random.below(4));
  const b = Array.from({ length }, () => random.below(4));
  const row = new Array(length + 1).fill(0);
  for (const x of a) {
    let diagonal = 0;
    for (let j = 0; j < length; j++) {
      const above = row[j + 1];
      row[j + 1] = x === b[j] ? diagonal + 1 : Math.max(above, row[j]);
      diagonal = above;
    }
  }
  return row[length];
}

function multiply(a, b) {
  return a.map((line) => line.map((_, j) => line.reduce((sum, value, k) => (sum + value * b[k][j]) % MOD, 0)));
}

function traceOfPower(random, size, exponent) {
  let base = Array.from({ length: size }, () => Array.from({ length: size }, () => random.below(MOD)));
  let result = base.map((line, i) => line.map((_, j) => (i === j ? 1 : 0)));
  for (let left = exponent; left > 0; left >>= 1) {
    if (left & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result.reduce((sum, line, i) => (sum + line[i]) % MOD, 0);
}

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  total() {
    let value = this.product();
    while (this.text[this.at] === "+") {
      this.at++;
      value = (value + this.product()) % MOD;
    }
    return value;
  }

  product() {
    let value = this.atom();
    while (this.text[this.at] === "*") {
      this.at++;
      value = (value * this.atom()) % MOD;
    }
    return value;
  }

  atom() {
    let value = 0;
    if (this.text[this.at] === "(") {
      this.at++;
      value = this.total();
      this.at++;
      return value;
    }
    while (this.text[this.at] >= "0" && this.text[this.at] <= "9") value = value * 10 + Number(this.text[this.at++]);
    return value;
  }
}

function expression(random, terms) {
  let text = "1";
  for (let i = 0; i < terms; i++) text += `${"+*"[random.below(2)]}(${random.below(1000)}+${random.below(1000)})`;
  return text;
}

const [size, seed] = require("node:fs").readFileSync(0, "utf8").split(" ").map(Number);
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
