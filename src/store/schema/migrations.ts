// Generated from migrations/: npm run generate.
import type { Transaction } from "kysely";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { accountsAndSubmissions } from "./migrations/0001-accounts-and-submissions.ts";
import { projectsAndWebhooks } from "./migrations/0002-projects-and-webhooks.ts";
import { retention } from "./migrations/0003-retention.ts";
import { people } from "./migrations/0004-people.ts";
import { history } from "./migrations/0005-history.ts";
import { shares } from "./migrations/0006-shares.ts";
import { lists } from "./migrations/0007-lists.ts";
import { fairDeliveries } from "./migrations/0008-fair-deliveries.ts";
import { sends } from "./migrations/0009-sends.ts";
import { additions } from "./migrations/0010-additions.ts";
import { judgements } from "./migrations/0011-judgements.ts";
import { problems } from "./migrations/0012-problems.ts";
import { judgementsOfProblems } from "./migrations/0013-judgements-of-problems.ts";
import { causes } from "./migrations/0014-causes.ts";
import { samples } from "./migrations/0015-samples.ts";
import { webhookHeadersAndAuditSearch } from "./migrations/0016-webhook-headers-and-audit-search.ts";
import { historyOfUse } from "./migrations/0017-history-of-use.ts";
import { judge0 } from "./migrations/0018-judge0.ts";
import { liveInput } from "./migrations/0019-live-input.ts";
import { compileOutput } from "./migrations/0020-compile-output.ts";
import { progress } from "./migrations/0021-progress.ts";
import { foreignSubmissions } from "./migrations/0022-foreign-submissions.ts";
import { takesInput } from "./migrations/0023-takes-input.ts";
import { harness } from "./migrations/0024-harness.ts";
import { faultyVersions } from "./migrations/0025-faulty-versions.ts";
import { graders } from "./migrations/0026-graders.ts";
import { sandboxes } from "./migrations/0027-sandboxes.ts";
import { snapshots } from "./migrations/0028-snapshots.ts";
import { keptSandboxes } from "./migrations/0029-kept-sandboxes.ts";
import { links } from "./migrations/0030-links.ts";
import { sandboxUsage } from "./migrations/0031-sandbox-usage.ts";
import { sandboxDisks } from "./migrations/0032-sandbox-disks.ts";
import { sandboxNeeds } from "./migrations/0033-sandbox-needs.ts";
import { egress } from "./migrations/0034-egress.ts";

export type Migration = (trx: Transaction<Schema>, abilities: Abilities) => Promise<void>;

/** All migrations in order; the version of a schema is the number of its migrations. Released migrations never change. */
export const MIGRATIONS: readonly Migration[] = [
  accountsAndSubmissions,
  projectsAndWebhooks,
  retention,
  people,
  history,
  shares,
  lists,
  fairDeliveries,
  sends,
  additions,
  judgements,
  problems,
  judgementsOfProblems,
  causes,
  samples,
  webhookHeadersAndAuditSearch,
  historyOfUse,
  judge0,
  liveInput,
  compileOutput,
  progress,
  foreignSubmissions,
  takesInput,
  harness,
  faultyVersions,
  graders,
  sandboxes,
  snapshots,
  keptSandboxes,
  links,
  sandboxUsage,
  sandboxDisks,
  sandboxNeeds,
  egress,
];
