import { echo } from "../../domain/error.ts";
import { ALL_FIELDS, DEFAULT_FIELDS, isJudge0Field, type Judge0Field } from "../../domain/judge0/fields.ts";

/** A query that Judge0 answers with 400 and its `error`. */
export class BadQueryError extends Error {
  override readonly name = "BadQueryError";
}

const MAX_PER_PAGE = 100;
const PER_PAGE = 20;
/** Unknown fields that an error names. */
const MAX_NAMED = 5;

/** Reads a parameter; of a repeated one, the last. */
export function parameter(query: unknown, name: string): string | undefined {
  const value = Object.getOwnPropertyDescriptor(query, name)?.value as string | string[] | undefined;
  return Array.isArray(value) ? value.at(-1) : value;
}

/** Judge0 compares with this text alone. */
export function isTrue(query: unknown, name: string): boolean {
  return parameter(query, name) === "true";
}

/** The parameter `fields`. @throws BadQueryError */
export function readFields(query: unknown): readonly Judge0Field[] {
  const names = (parameter(query, "fields") ?? "").split(",").filter((name) => name !== "");
  const unknown = names.filter((name) => name !== "*" && !isJudge0Field(name));
  if (unknown.length > 0)
    throw new BadQueryError(`invalid fields: [${unknown.slice(0, MAX_NAMED).map(shown).join(", ")}]`);
  if (names.includes("*")) return names.includes("assay_id") ? [...ALL_FIELDS, "assay_id"] : ALL_FIELDS;
  return names.length > 0 ? [...new Set(names.filter(isJudge0Field))] : DEFAULT_FIELDS;
}

function shown(name: string): string {
  return /^\w{1,40}$/.test(name) ? name : echo(name);
}

/** The parameters of a page. @param most submissions that pages can reach. @throws BadQueryError */
export function pageOf(query: unknown, most: number): { readonly page: number; readonly perPage: number } {
  const number = (name: string, otherwise: number) => {
    const text = parameter(query, name);
    return text === undefined ? otherwise : /^-?\d{1,9}$/.test(text) ? Number(text) : 0;
  };
  const page = number("page", 1);
  const perPage = number("per_page", PER_PAGE);
  if (page <= 0 || page > most) throw new BadQueryError(`invalid page: ${page}`);
  if (perPage < 0 || perPage > MAX_PER_PAGE) throw new BadQueryError(`invalid per_page: ${perPage}`);
  return { page, perPage };
}
