import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../support/engine/engine.ts";

/** A judgement as the API returns it. */
export interface Judged {
  readonly id: string;
  readonly status: string;
  readonly verdict: string;
  readonly score: number;
  readonly runs: readonly {
    readonly status: string;
    readonly verdict: string | null;
    readonly points: number;
    readonly message: string | null;
    readonly submission_id: string;
  }[];
}

/** Judges a program and waits for the end. */
export async function judge({ ask }: Pick<Engine, "ask">, body: object): Promise<Judged> {
  let { status, json } = await ask("POST", "/api/judgements?wait=true", body);
  const { id } = json as Judged;
  while (status === 408) {
    await sleep(100);
    ({ status, json } = await ask("GET", `/api/judgements/${id}?wait=true`));
  }
  assert.equal(status, 200, JSON.stringify(json));
  return json as Judged;
}

/** The verdicts of the runs. */
export function verdicts({ runs }: Judged): (string | null)[] {
  return runs.map(({ verdict }) => verdict);
}
