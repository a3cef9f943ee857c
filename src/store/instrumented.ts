import { type Meter, secondsSince } from "../domain/meter.ts";
import type { OPERATIONS } from "../domain/metrics.ts";
import { StoreUnavailable } from "./database/errors.ts";
import type { Store } from "./store.ts";

type Operation = (typeof OPERATIONS)[number];

/** The labels of parts of the store in metrics. Methods in METHODS have other labels; all other parts have the label `admin`. */
const PARTS: { readonly [Part in keyof Store]?: Operation } = {
  deliveries: "deliveries",
  quota: "quota",
  workers: "workers",
  links: "workers",
  retention: "retention",
  history: "history",
  live: "live",
  liveInput: "live",
  sandboxes: "sandboxes",
  snapshots: "sandboxes",
  egress: "sandboxes",
};
type MethodName = { [Part in keyof Store & string]: `${Part}.${keyof Store[Part] & string}` }[keyof Store & string];
const METHODS: Readonly<Record<string, Operation>> = {
  "keys.findCaller": "authenticate",
  "keys.touch": "authenticate",
  "submissions.enqueue": "accept",
  "submissions.claim": "claim",
  "submissions.renew": "lease",
  "submissions.sweep": "lease",
  "submissions.finish": "finish",
  "submissions.release": "finish",
  "submissions.requeue": "finish",
  "submissions.get": "read",
  "submissions.depth": "read",
} satisfies { readonly [Method in MethodName]?: Operation };
/** Methods that are not measured, because they wait for a program and not for the database. */
const UNTIMED = ["submissions.whenTerminal"];

type Method = (...asked: unknown[]) => unknown;

/** Wraps a store, to measure the duration of calls of its parts, and to count those that fail. */
export function instrumented(store: Store, meter: Meter): Store {
  const parts = Object.entries(store).map(([name, part]) => [
    name,
    typeof part === "object" ? measuredPart(name, part as Record<string, Method>, meter) : part,
  ]);
  return Object.fromEntries(parts) as Store;
}

function measuredPart(part: string, methods: Readonly<Record<string, Method>>, meter: Meter) {
  const entries = Object.entries(methods).map(([name, method]): [string, Method] => {
    const path = `${part}.${name}`;
    if (UNTIMED.includes(path)) return [name, method];
    const operation = METHODS[path] ?? PARTS[part as keyof Store] ?? "admin";
    return [name, (...asked) => timed(() => method(...asked), operation, meter)];
  });
  return Object.fromEntries(entries);
}

/** A result that is not a promise is a subscription and is not measured. */
function timed(ask: () => unknown, operation: Operation, meter: Meter): unknown {
  const started = performance.now();
  const answer = ask();
  if (!(answer instanceof Promise)) return answer;
  return answer.then(
    (value) => {
      meter.time("database", { operation }, secondsSince(started));
      return value;
    },
    (error: unknown) => {
      meter.time("database", { operation }, secondsSince(started));
      meter.count("databaseErrors", { operation, kind: error instanceof StoreUnavailable ? "away" : "other" });
      throw error;
    },
  );
}
