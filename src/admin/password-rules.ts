import { Worker } from "node:worker_threads";
import { AdminError } from "./error.ts";
import type { Guessed } from "./guess-thread.ts";

const LEAST_CHARACTERS = 12;
/** The most bytes of a password: more would only cost time. */
const MOST_BYTES = 1024;
/** Guesses that a password must withstand. With argon2id, 10^10 guesses take 35 years of one core. */
const LEAST_GUESSES = 1e10;
/**
 * The most characters that are rated; the rest only adds to the guesses. The time grows with the square of the length: 64
 * characters that resemble many words take up to half a second of a core, 200 take two.
 */
const MOST_RATED_CHARACTERS = 64;
/** How long the thread may take. After that, the password is rejected. */
const MOST_MS = 10_000;

/** The cheap part of checkPassword(): checks only the length. @throws AdminError with the reason. */
export function checkLength(password: string): void {
  if ([...password.normalize("NFC")].length < LEAST_CHARACTERS) {
    throw new AdminError(`the password must have at least ${LEAST_CHARACTERS} characters; a few words are good`);
  }
  if (Buffer.byteLength(password) > MOST_BYTES) {
    throw new AdminError(`the password must have at most ${MOST_BYTES} bytes`);
  }
}

/**
 * Checks a new password: it must have the required length, and must not be one that attackers try first. These are common
 * passwords, keyboard patterns, names, dates and words about the person, also with the usual substitutions.
 * @throws AdminError with the reason.
 */
export async function checkPassword(
  password: string,
  { email, name }: { readonly email: string; readonly name: string },
): Promise<void> {
  checkLength(password);
  const characters = [...password.normalize("NFC")];
  const known = [email, ...email.split(/[@.+_-]/), name, ...name.split(/\s+/), "assay"];
  const guesses = await guessesFor({
    password: characters.slice(0, MOST_RATED_CHARACTERS).join(""),
    known: known.filter(Boolean),
  });
  if (guesses < LEAST_GUESSES) {
    throw new AdminError("this password is easy to guess; use several unrelated words");
  }
}

/**
 * How many guesses an attacker needs. They are counted in a thread that ends afterwards, so that the dictionaries neither block
 * the event loop nor stay in memory.
 */
function guessesFor(guessed: Guessed): Promise<number> {
  const thread = new Worker(new URL("./guess-thread.ts", import.meta.url), { workerData: guessed });
  return new Promise<number>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new AdminError("this password took too long to check; choose another")),
      MOST_MS,
    );
    thread.once("exit", () => {
      clearTimeout(timer);
      reject(new Error("the thread that checks a password ended without a result"));
    });
    thread.once("error", reject);
    thread.once("message", resolve);
  }).finally(() => thread.terminate());
}
