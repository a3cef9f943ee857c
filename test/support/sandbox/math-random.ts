const BITS = 64;
const wrap = (n: bigint) => BigInt.asUintN(BITS, n);

/** Inverts x ^ (x << shift), or x ^ (x >> -shift). */
function unshift(mixed: bigint, shift: number): bigint {
  const moved = (n: bigint) => (shift > 0 ? wrap(n << BigInt(shift)) : n >> BigInt(-shift));
  let x = mixed;
  for (let known = Math.abs(shift); known < BITS; known += Math.abs(shift)) x = mixed ^ moved(x);
  return x;
}

/** Inverts v8::base::RandomNumberGenerator::MurmurHash3: its factors are odd, and so have inverses. */
function unhash(hash: bigint): bigint {
  const first = unshift(wrap(unshift(hash, -33) * 0x9cb4b2f8129337dbn), -33);
  return unshift(wrap(first * 0x4f74430c22a54005n), -33);
}

const forward = (x: bigint) => {
  const left = x ^ wrap(x << 23n);
  return left ^ (left >> 17n);
};
const backward = (y: bigint) => unshift(unshift(y, -17), 23);
const mix = (x: bigint) => x ^ (x >> 26n);

/**
 * The seed of a V8 context, from the first 64 results of its Math.random(). V8 fills a cache of 64 numbers and takes them from its
 * end. They are the upper 53 bits of the words of an xorshift128+, each of which follows from the two before it:
 * word[n + 2] = forward(word[n]) ^ mix(word[n + 1]). The first two words, of which no result is drawn from the first one, are hashes
 * of the seed and of its complement.
 */
export function seedOf(numbers: readonly number[]): bigint {
  if (numbers.length !== 64) throw new Error(`${numbers.length} numbers instead of 64`);
  const upper = numbers.toReversed().map((number) => BigInt(number * 2 ** 53));
  /** A whole word, from its own upper bits and those of the two words after it, in which its lower bits are. */
  const whole = (n: number): bigint => {
    const [own = 0n, next = 0n, last = 0n] = upper.slice(n);
    for (let lower = 0n; lower < 1n << 11n; lower++) {
      const word = (own << 11n) | lower;
      if ((forward(word) ^ mix(next << 11n)) >> 11n === last) return word;
    }
    throw new Error("these are no results of an xorshift128+");
  };
  const [second, third] = [whole(0), whole(1)];
  const seed = unhash(backward(third ^ mix(second)));
  if (unhash(second) !== wrap(~seed)) throw new Error("the state is no hash of a seed");
  return seed;
}
