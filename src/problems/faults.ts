import { PackageError } from "./files.ts";

/** The most faults that a version of a problem has, and the most characters of each. */
export const MAX_FAULTS = 20;
const MAX_FAULT = 500;

/** The package needs something that this import cannot do. That is no fault of the package, and is never allowed as one. */
export class UnavailableError extends PackageError {}

/**
 * The faults of the programs of a package and of their settings. Without these programs, the rest of the package can still be read. By
 * default, the first fault refuses the package. If faults are allowed, they are collected, and the package becomes a faulty version of its
 * problem, on which no program is judged.
 */
export class Faults {
  readonly #areAllowed: boolean;
  readonly #texts: string[] = [];

  constructor({ areAllowed }: { readonly areAllowed: boolean }) {
    this.#areAllowed = areAllowed;
  }

  get texts(): readonly string[] {
    return this.#texts;
  }

  /**
   * Reads a part of the package. @returns `otherwise` if the part has a fault that is allowed. After MAX_FAULTS faults, no further part
   * is read, because a hostile package could have one fault for each of many tests. @throws PackageError for a fault that is not allowed.
   */
  attempt<T>(read: () => T, otherwise: T): T {
    if (this.#texts.length === MAX_FAULTS) return otherwise;
    try {
      return read();
    } catch (error) {
      this.#add(error);
      return otherwise;
    }
  }

  /** Like `attempt`, for what programs of the package do in sandboxes. */
  async attemptRun(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#add(error);
    }
  }

  #add(error: unknown): void {
    if (!this.#areAllowed || !(error instanceof PackageError) || error instanceof UnavailableError) throw error;
    // A fault can quote the package, which may contain escape sequences of terminals.
    const text = error.message.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
    const shown = text.length > MAX_FAULT ? `${text.slice(0, MAX_FAULT - 1)}…` : text;
    if (!this.#texts.includes(shown.toWellFormed())) this.#texts.push(shown.toWellFormed());
  }
}

/** Refuses a package for its first fault. */
export function refusing(): Faults {
  return new Faults({ areAllowed: false });
}
