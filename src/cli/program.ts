import { Command } from "commander";
import { accountsCommand } from "./accounts.ts";
import { auditCommand } from "./audit.ts";
import { backupCommand } from "./backup.ts";
import { benchCommand } from "./bench.ts";
import { doctorCommand } from "./doctor.ts";
import { keysCommand } from "./keys.ts";
import { membersCommand } from "./members.ts";
import { projectsCommand } from "./projects.ts";
import { restoreCommand } from "./restore.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { statusCommand } from "./status.ts";
import { tiersCommand } from "./tiers.ts";
import { webhooksCommand } from "./webhooks.ts";
import { workerCommand } from "./worker.ts";

/** The command line with all commands, one file of this room each. `docs/cli.md` is generated from it. */
export function program(): Command {
  return new Command("assay")
    .description("sandboxed code execution with kernel evidence")
    .addCommand(serveCommand())
    .addCommand(workerCommand())
    .addCommand(accountsCommand())
    .addCommand(projectsCommand())
    .addCommand(keysCommand())
    .addCommand(webhooksCommand())
    .addCommand(membersCommand())
    .addCommand(tiersCommand())
    .addCommand(auditCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(runCommand())
    .addCommand(statusCommand())
    .addCommand(doctorCommand())
    .addCommand(benchCommand());
}
