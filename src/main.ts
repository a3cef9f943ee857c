import { AdminError } from "./admin/error.ts";
import { NobodyAnswers } from "./cli/ask-operator.ts";
import { program } from "./cli/program.ts";
import { ConfigError } from "./config.ts";
import { LanguageFileError } from "./languages/load.ts";
import { SandboxError } from "./sandbox/slot.ts";
import { ProtocolError } from "./sandbox/wire.ts";
import { StoreError } from "./store/errors.ts";
import { SecretKeyError } from "./webhooks/key-file.ts";
import { BlockedError } from "./webhooks/target.ts";

const OLDEST_NODE = 24;

/** Errors whose message is written for whoever typed the command. */
const SENTENCES = [
  AdminError,
  BlockedError,
  ConfigError,
  LanguageFileError,
  NobodyAnswers,
  ProtocolError,
  SandboxError,
  SecretKeyError,
  StoreError,
];

try {
  requireNode();
  await program().parseAsync();
} catch (error) {
  process.stderr.write(`assay: ${explain(error)}\n`);
  // What a service had begun before it failed, such as its worker, must not go on without it.
  process.exit(1);
}

/** Older ones crash inside the database driver, without a word about why. */
function requireNode(): void {
  if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
    throw new ConfigError(`needs Node ${OLDEST_NODE}, but this is ${process.versions.node}; start it with ./assay`);
  }
}

/** A mistake of the operator is one sentence; anything else is ours and shows where. */
function explain(error: unknown): string {
  if (SENTENCES.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof Error && code !== undefined) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
