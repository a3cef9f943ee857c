import { echo } from "../../domain/error.ts";
import { ALL_FIELDS, DEFAULT_FIELDS, isJudge0Field, type Judge0Field } from "./fields.ts";

/** The query is not valid. As in Judge0, the response has the status 400, and the message in `error`. */
export class BadQueryError extends Error {
  override readonly name = "BadQueryError";
}

/** The most submissions of a page, and their number without `per_page`. */
const MAX_PER_PAGE = 100;
const PER_PAGE = 20;
/** The most unknown fields that an error names. */
const MAX_NAMED = 5;

/** The value of a query parameter; the last value if the parameter is repeated. */
export function parameter(query: unknown, name: string): string | undefined {
  const value = Object.getOwnPropertyDescriptor(query, name)?.value as string | string[] | undefined;
  return Array.isArray(value) ? value.at(-1) : value;
}

/** Whether a query parameter has the text `true`. As in Judge0, any other text means false. */
export function isTrue(query: unknown, name: string): boolean {
  return parameter(query, name) === "true";
}

/** The fields that the parameter `fields` names. @throws BadQueryError for an unknown field. */
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

/** The parameters `page` and `per_page`. @param most the number of the last page that can be asked for. @throws BadQueryError */
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
