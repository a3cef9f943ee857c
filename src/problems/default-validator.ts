import type { Checker } from "../domain/check.ts";

const NUMBER = /^\d+(\.\d*)?([eE][+-]?\d+)?$/;
const ZERO = /^[0.]+(?:[eE]|$)/;

/**
 * The built-in checker for arguments of the format's default validator.
 * @returns an error text if an argument is invalid, or if the built-in checkers cannot do what it demands.
 */
export function defaultValidator(args: readonly string[]): Checker | string {
  let [caseSensitive, spaces] = [false, false];
  const tolerance: { absolute?: number; relative?: number } = {};
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word === "case_sensitive") caseSensitive = true;
    else if (word === "space_change_sensitive") spaces = true;
    else {
      const kinds = Object.hasOwn(TOLERANCES, word ?? "") ? TOLERANCES[word ?? ""] : undefined;
      const value = args[++at] ?? "";
      if (!kinds) return `the default validator has no argument ${JSON.stringify(word)}`;
      if (!NUMBER.test(value)) return `${word} needs a number, not ${JSON.stringify(value)}`;
      // Outside of the range of doubles, the number would become infinity or zero.
      if (!Number.isFinite(Number(value)) || (Number(value) === 0 && !ZERO.test(value)))
        return `${word} needs a number that a double can have, not ${JSON.stringify(value)}`;
      for (const kind of kinds) {
        if (tolerance[kind] !== undefined) return `two tolerances for the ${kind} error`;
        tolerance[kind] = Number(value);
      }
    }
  }
  const isExact = Object.keys(tolerance).length === 0;
  if (spaces) {
    if (caseSensitive && isExact) return { type: "exact" };
    return "space_change_sensitive is supported only together with case_sensitive and without tolerances";
  }
  return isExact ? { type: "tokens", caseSensitive } : { type: "floats", caseSensitive, ...tolerance };
}

const TOLERANCES: Readonly<Record<string, readonly ("absolute" | "relative")[]>> = {
  float_absolute_tolerance: ["absolute"],
  float_relative_tolerance: ["relative"],
  float_tolerance: ["absolute", "relative"],
};
