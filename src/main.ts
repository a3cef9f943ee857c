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

/** Errors whose message is for the user of the command line; they are shown without a stack. */
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
  // A failed service must not leave parts of it running, such as its worker.
  process.exit(1);
}

/** Older versions crash inside the database driver without a clear message. */
function requireNode(): void {
  if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
    throw new ConfigError(`needs Node ${OLDEST_NODE}, but this is ${process.versions.node}; start it with ./assay`);
  }
}

/** Operator errors are one sentence; all other errors have a stack. */
function explain(error: unknown): string {
  if (SENTENCES.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof Error && code !== undefined) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
