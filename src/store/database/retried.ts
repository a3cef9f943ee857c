import { setTimeout as sleep } from "node:timers/promises";
import type { Capabilities } from "./database.ts";

const MAX_TRIES = 6;
const TRY_AGAIN_MS = 10;

/**
 * Repeats a transaction that has lost a conflict with others, such as a deadlock. The pause grows with each attempt.
 * @throws the error of the sixth attempt, or any other error.
 */
export async function retried<T>({ isRetryable }: Pick<Capabilities, "isRetryable">, transaction: () => Promise<T>) {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction();
    } catch (error) {
      if (tries === MAX_TRIES || !isRetryable(error)) throw error;
      await sleep(Math.random() * TRY_AGAIN_MS * 2 ** tries);
    }
  }
}
