import type { Command } from "commander";
import { type DeliveryView, deliveryView, printable } from "../admin/deliveries.ts";
import { answer, table } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

interface Options extends StoreOptions {
  readonly endpoint?: string;
  readonly submission?: string;
  readonly limit: number;
}

/** `assay webhooks deliveries`: deliveries and responses. */
export function deliveriesVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "deliveries",
    "List deliveries and responses, newest first. --json has every attempt: time, status, latency, error and the start of the response.",
  )
    .option("--endpoint <id>", "deliveries to this endpoint only")
    .option("--submission <id>", "deliveries of this submission only")
    .option("--limit <number>", "maximum number of deliveries", wholeNumber, 50)
    .action((options: Options) =>
      withStore(options, async (store) => {
        const { limit: max, endpoint: endpointId, submission: submissionId } = options;
        const all = (await store.deliveries.list({ max, endpointId, submissionId })).map(deliveryView);
        answer(options.json, all, () =>
          table(["ID", "AT", "KIND", "STATE", "ATTEMPTS", "LAST", "SUBMISSION", "URL"], all.map(row)),
        );
      }),
    );
}

/** Summary of the last attempt. */
export function lastWords({ attempts, reason }: DeliveryView): string {
  const last = attempts.at(-1);
  if (reason !== null || last === undefined) return reason ?? "not tried yet";
  return last.status === null ? printable(last.error ?? "") : `${last.status} in ${last.latencyMs} ms`;
}

function row(view: DeliveryView): string[] {
  const { id, createdAt, kind, state, attempts, submission, url } = view;
  return [id, createdAt, kind, state, String(attempts.length), lastWords(view), submission ?? "-", url];
}
