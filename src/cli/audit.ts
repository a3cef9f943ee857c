import { Command } from "commander";
import { type AuditView, listAudit } from "../admin/audit.ts";
import { answer, table } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

interface Options extends StoreCommandOptions {
  readonly limit: number;
  readonly account?: string;
}

/** `assay audit`: changes and sign-ins with their actors. */
export function auditCommand(): Command {
  const audit = new Command("audit").description(
    "Show changes, sign-ins, and reads of submissions and judgements by administrators.",
  );
  commandOnStore(audit, "list", "List entries with actor and address, newest first.")
    .option("--limit <number>", "maximum number of entries", wholeNumber, 50)
    .option("--account <account>", "entries of this account only, by name or id")
    .action((options: Options) =>
      withStore(options, async (store) => {
        const entries = await listAudit(store, { max: options.limit, account: options.account });
        answer(options.json, entries, () =>
          table(["AT", "ACTOR", "ACTION", "SUBJECT", "ACCOUNT", "ADDRESS", "DETAIL"], entries.map(row)),
        );
      }),
    );
  return audit;
}

function row({ at, actor, action, subject, account, address, detail }: AuditView): string[] {
  return [at, actor, action, subject, account ?? "-", address ?? "-", JSON.stringify(detail)];
}
