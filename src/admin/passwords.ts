import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(argon2) as (algorithm: "argon2id", parameters: Argon2Parameters) => Promise<Buffer>;

/** What a guess costs: a ninth of a second of one core and 32 MiB. Hashes that were made with less are made anew at a sign-in. */
const COST = { memory: 32_768, passes: 3, parallelism: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const FORM = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{1,128})\$([A-Za-z0-9+/]{1,128})$/;

/** Of a password that nobody has: who is not there costs as much as who is. */
const NOBODY = textOf(COST, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));

/** @returns the text that is stored: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return textOf(COST, salt, await digest(password, salt, COST, HASH_BYTES));
}

/** @param hash null for who is not there, or has no password: as slow, and never right. */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, salt = "", expected = ""] = FORM.exec(hash ?? NOBODY) ?? [];
  if (memory === undefined) throw new Error("a stored password is not of the form that we store");
  const wanted = Buffer.from(expected, "base64");
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const given = await digest(password, Buffer.from(salt, "base64"), cost, wanted.length);
  return timingSafeEqual(given, wanted) && hash !== null;
}

/** Whether it was made with other parameters than today's. */
export function isDated(hash: string): boolean {
  return !hash.startsWith(head(COST));
}

type Cost = Pick<Argon2Parameters, "memory" | "passes" | "parallelism">;

/** What looks the same on two keyboards is the same password. */
function digest(password: string, nonce: Buffer, cost: Cost, tagLength: number): Promise<Buffer> {
  return derive("argon2id", { message: password.normalize("NFC"), nonce, tagLength, ...cost });
}

function textOf(cost: Cost, salt: Buffer, hash: Buffer): string {
  const plain = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  return `${head(cost)}${plain(salt)}$${plain(hash)}`;
}

function head({ memory, passes, parallelism }: Cost): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;
}
