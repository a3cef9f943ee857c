import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { NetworkPolicy } from "../../client/typescript/src/types.ts";
import { EGRESS_BUDGET_NAMES, EGRESS_BUDGETS } from "../domain/egress/policy.ts";
import { OperatorError } from "../domain/operator-error.ts";

type Rule = Exclude<NetworkPolicy, "none">["allow"][number];

/** Collects the rules of a repeatable option `HOST:PORT,PORT` or `NETWORK:PORT,PORT`. The service checks hosts and networks. */
export function allowRule(text: string, before: readonly Rule[] = []): readonly Rule[] {
  const at = text.lastIndexOf(":");
  const [destination, ports] = [text.slice(0, at), text.slice(at + 1).split(",")];
  if (at < 1 || !ports.every((port) => /^\d{1,5}$/.test(port)))
    throw new InvalidArgumentError(
      "must be HOST:PORT or NETWORK:PORT, with several ports as in api.example.com:80,443",
    );
  const rule = { ports: ports.map(Number) };
  return [...before, destination.includes("/") ? { cidr: destination, ...rule } : { host: destination, ...rule }];
}

export const ALLOW_FORM = "--allow <host:ports>";

/** A number of bytes, up to those that a budget can have. */
function bytes(text: string): number {
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError("must be a whole number");
  return Number(text);
}

/** An option of a bound, and the field of the JSON that it is. */
interface Field {
  readonly option: Option;
  readonly field: string;
}

const POLICY_FIELDS: readonly Field[] = EGRESS_BUDGET_NAMES.map((name) => {
  const { field, what } = EGRESS_BUDGETS[name];
  return {
    field,
    option: new Option(`--${field.replaceAll("_", "-")} <number>`, `of each sandbox: ${what}`).argParser(bytes),
  };
});
const DAY_FIELDS: readonly Field[] = [
  ["bytes_up_per_day", "bytes that all sandboxes together may send on one day (UTC)"],
  ["bytes_down_per_day", "bytes that all sandboxes together may receive on one day (UTC)"],
].map(([field = "", what = ""]) => ({
  field,
  option: new Option(`--${field.replaceAll("_", "-")} <number>`, what).argParser(bytes),
}));

/** Adds the options of a bound. */
export function withBound(command: Command): Command {
  command
    .addOption(
      new Option(
        "--file <path>",
        "JSON of the bound, as `show --json` prints it as `bound`: a file that the user of the service can read, or - for the standard input",
      ).conflicts("allow"),
    )
    .addOption(
      new Option(ALLOW_FORM, "a host or network that sandboxes may reach, with its ports; can be repeated").argParser(
        allowRule,
      ),
    );
  for (const { option } of [...POLICY_FIELDS, ...DAY_FIELDS]) command.addOption(option.conflicts("file"));
  return command;
}

/** The JSON of a bound. @throws OperatorError if the options name nothing, or the file cannot be read. */
export function boundOf(given: Readonly<Record<string, unknown>>): unknown {
  const { file, allow } = given;
  if (file !== undefined) return boundOfFile(file as string);
  if (allow === undefined) throw new OperatorError("say what sandboxes may reach: --allow or --file");
  const fields = (of: readonly Field[]) =>
    Object.fromEntries(
      of.flatMap(({ option, field }) => {
        const value = given[option.attributeName()];
        return value === undefined ? [] : [[field, value]];
      }),
    );
  return { policy: { allow, ...fields(POLICY_FIELDS) }, ...fields(DAY_FIELDS) };
}

/** What `show` adds to a bound is left out, so that its output can be changed and set. */
function boundOfFile(path: string): unknown {
  const read = readJson(path);
  if (typeof read !== "object" || read === null || Array.isArray(read)) return read;
  const { version: _, changed_at: __, ...bound } = read as Record<string, unknown>;
  return bound;
}

/** @param path `-` for standard input. @throws OperatorError if it cannot be read, or is not JSON. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8"));
  } catch (error) {
    throw new OperatorError(`${path}: ${(error as Error).message}`);
  }
}
