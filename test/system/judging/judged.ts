import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { PackageTexts } from "../../support/problems/packages.ts";
import { zipOf } from "../../support/problems/zip.ts";
import type { Product } from "../../support/programs/product.ts";

/** A judgement as the API returns it. */
export interface Judged {
  readonly id: string;
  readonly status: string;
  readonly verdict: string;
  readonly score: number;
  readonly grader?: { readonly submission_id: string | null; readonly message: string | null };
  readonly groups: readonly { readonly name: string; readonly parent: string | null; readonly score: number }[];
  readonly runs: readonly {
    readonly status: string;
    readonly verdict: string | null;
    readonly points: number;
    readonly message: string | null;
    readonly submission_id: string;
  }[];
}

/** Judges a program and waits for the end. */
export async function judge({ ask }: Pick<Product, "ask">, body: object): Promise<Judged> {
  let { status, json } = await ask("POST", "/api/judgements?wait=true", body);
  const { id } = json as Judged;
  while (status === 408) {
    await sleep(100);
    ({ status, json } = await ask("GET", `/api/judgements/${id}?wait=true`));
  }
  assert.equal(status, 200, JSON.stringify(json));
  return json as Judged;
}

export const zip = (texts: PackageTexts) => zipOf(Object.entries(texts).map(([name, data]) => ({ name, data })));

/** Imports a package by a request. @returns the id of the problem. */
export async function importProblem(
  { ask }: Pick<Product, "ask">,
  texts: PackageTexts,
  query: string,
): Promise<string> {
  const zipped = { "content-type": "application/zip" };
  const { status, json } = await ask("POST", `/api/problems?${query}`, zip(texts), zipped);
  assert.ok(status === 201 || status === 200, JSON.stringify(json)); // 200: it has this content
  return (json as { id: string }).id;
}

/** The verdicts of the runs. */
export function verdicts({ runs }: Judged): (string | null)[] {
  return runs.map(({ verdict }) => verdict);
}
