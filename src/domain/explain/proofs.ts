import { EVIDENCE_FACTS, type EvidenceRecord } from "../evidence-facts.ts";
import { type Facts, rowsOf } from "../facts.ts";
import { bytesText, secondsText } from "./units.ts";

/** A field of the evidence with its meaning. */
export interface Proof {
  /** The path of the field in the evidence, such as `limits.cgroup.oom_kill_events`. */
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

/** Every field of the evidence with its value, in the record's order. */
export function proofs(evidence: EvidenceRecord | null): Proof[] {
  return evidence ? proofsOf(EVIDENCE_FACTS, evidence) : [];
}

/** Every fact that has a value, in the order of the facts. */
export function proofsOf(facts: Facts, values: object): Proof[] {
  return [...rowsOf(facts, values)].map(({ field, value, meaning }) => ({
    field,
    value: valueText(field, value),
    meaning,
  }));
}

function valueText(field: string, value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(partText).join(", ");
  if (typeof value === "number") {
    if (field.endsWith("_bytes")) return bytesText(value);
    return field.endsWith("_usec") ? secondsText(value / 1e6) : String(value);
  }
  return partText(value);
}

/** An rlimit has a soft value, which is in force, and a hard value, up to which the program could raise it. */
function partText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if ("soft" in value && "hard" in value) return `${value.soft} (at most ${value.hard})`;
  return Object.values(value).join(": ");
}
