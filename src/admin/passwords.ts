// A namespace import, because a named import that an older Node lacks would fail before main.ts could report it.
import * as crypto from "node:crypto";
import { promisify } from "node:util";

/**
 * The parameters of new hashes. With them, a guess takes a ninth of a second of one core and 32 MiB. Hashes with other parameters
 * are replaced at the next sign-in.
 */
const COST = { memory: 32_768, passes: 3, parallelism: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const FORM = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{1,128})\$([A-Za-z0-9+/]{1,128})$/;

/** A hash that no password has. It is compared for unknown people, so that a sign-in takes as long for them as for known people. */
const NOBODY = textOf(COST, crypto.randomBytes(SALT_BYTES), crypto.randomBytes(HASH_BYTES));

/** @returns the text to store: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES);
  return textOf(COST, salt, await digest(password, salt, COST, HASH_BYTES));
}

/**
 * Whether the password has this hash.
 * @param hash null for an unknown person or a person without a password: the call then takes as long as with a hash, and returns
 * false.
 */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, salt = "", expected = ""] = FORM.exec(hash ?? NOBODY) ?? [];
  if (memory === undefined) throw new Error("a stored password has an invalid format");
  const wanted = Buffer.from(expected, "base64");
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const given = await digest(password, Buffer.from(salt, "base64"), cost, wanted.length);
  return crypto.timingSafeEqual(given, wanted) && hash !== null;
}

/** Whether the hash has other parameters than new hashes have. */
export function isDated(hash: string): boolean {
  return !hash.startsWith(head(COST));
}

type Cost = Pick<crypto.Argon2Parameters, "memory" | "passes" | "parallelism">;

/** Hashes a password. It is normalised before, because keyboards encode the same characters differently. */
function digest(password: string, nonce: Buffer, cost: Cost, tagLength: number): Promise<Buffer> {
  const derive = promisify(crypto.argon2);
  return derive("argon2id", { message: password.normalize("NFC"), nonce, tagLength, ...cost });
}

function textOf(cost: Cost, salt: Buffer, hash: Buffer): string {
  const plain = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  return `${head(cost)}${plain(salt)}$${plain(hash)}`;
}

function head({ memory, passes, parallelism }: Cost): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;
}
