import { Command } from "commander";

/** Commands in the order of the help. Each is a file of this directory; `bench` is a program of its own (bench/main.ts). */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    serve: async () => (await import("./serve.ts")).serveCommand(),
    worker: async () => (await import("./worker.ts")).workerCommand(),
    accounts: async () => (await import("./accounts.ts")).accountsCommand(),
    projects: async () => (await import("./projects.ts")).projectsCommand(),
    keys: async () => (await import("./keys.ts")).keysCommand(),
    webhooks: async () => (await import("./webhooks.ts")).webhooksCommand(),
    members: async () => (await import("./members.ts")).membersCommand(),
    tiers: async () => (await import("./tiers.ts")).tiersCommand(),
    network: async () => (await import("./network.ts")).networkCommand(),
    audit: async () => (await import("./audit.ts")).auditCommand(),
    backup: async () => (await import("./backup.ts")).backupCommand(),
    restore: async () => (await import("./restore.ts")).restoreCommand(),
    run: async () => (await import("./run.ts")).runCommand(),
    judge: async () => (await import("./judge.ts")).judgeCommand(),
    problems: async () => (await import("./problems.ts")).problemsCommand(),
    sandbox: async () => (await import("./sandbox.ts")).sandboxCommand(),
    status: async () => (await import("./status.ts")).statusCommand(),
    doctor: async () => (await import("./doctor.ts")).doctorCommand(),
  }),
);

/**
 * The command line. `docs/cli.md` is generated from it.
 * @param name the command to load. If there is no such command, all are loaded, which takes 0.4 s of CPU time longer.
 */
export async function program(name?: string): Promise<Command> {
  const root = new Command("assay").description("sandboxed code execution with kernel evidence");
  const one = COMMANDS.get(name ?? "");
  for (const load of one ? [one] : COMMANDS.values()) root.addCommand(await load());
  return root;
}
