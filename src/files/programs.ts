import { FileError } from "../domain/sandboxes/files.ts";
import { Dialogue, FileProgramStopped } from "./dialogue.ts";
import type { StartFileProgram } from "./program.ts";

/** Programs of one sandbox that serve requests at the same time, and others that watch directories. */
export const [MOST_PROGRAMS, MOST_WATCHERS] = [2, 2];

/** Requests that wait for a program, and how long they wait. */
const [MOST_WAITING, WAIT_MS] = [32, 30_000];

/** A program that waits for a request ends after this time. */
const IDLE_MS = 10_000;

/** The file programs of one sandbox: a bounded number, of which one waits for the next request. */
export class Programs {
  readonly #start: StartFileProgram;
  readonly #silenceMs: number;
  readonly #busy = new Set<Dialogue>();
  readonly #watchers = new Set<Dialogue>();
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #taken = 0;
  #watching = 0;
  #idle: Dialogue | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(start: StartFileProgram, silenceMs: number) {
    this.#start = start;
    this.#silenceMs = silenceMs;
  }

  /** A program for one request, which must be given back. @throws FileError busy or stopped, and what starting it throws */
  async take(): Promise<Dialogue> {
    this.#check();
    if (this.#taken < MOST_PROGRAMS) this.#taken++;
    else await this.#wait();
    try {
      this.#check();
      const dialogue = this.#takeIdle() ?? (await this.#begin());
      this.#busy.add(dialogue);
      return dialogue;
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  give(dialogue: Dialogue): void {
    if (!this.#busy.delete(dialogue)) return;
    if (!dialogue.isOver) {
      if (this.#idle || this.#isClosed) dialogue.kill();
      else this.#keep(dialogue);
    }
    this.#release();
  }

  /** A program for a watch, which must be ended. */
  async startWatcher(): Promise<Dialogue> {
    this.#check();
    if (this.#watching >= MOST_WATCHERS) {
      throw new FileError("busy", null, `at most ${MOST_WATCHERS} directories of a sandbox can be watched at once`);
    }
    this.#watching++;
    try {
      const dialogue = await this.#begin();
      this.#watchers.add(dialogue);
      return dialogue;
    } catch (error) {
      this.#watching--;
      throw error;
    }
  }

  endWatcher(dialogue: Dialogue): void {
    dialogue.kill();
    if (this.#watchers.delete(dialogue)) this.#watching--;
  }

  close(): void {
    this.#isClosed = true;
    this.endIdle();
    const error = new FileProgramStopped("the sandbox ends");
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
    for (const dialogue of [...this.#busy, ...this.#watchers]) dialogue.kill(error);
  }

  #check(): void {
    if (this.#isClosed) throw new FileProgramStopped("the sandbox has ended");
  }

  async #begin(): Promise<Dialogue> {
    const dialogue = new Dialogue(await this.#start(), this.#silenceMs);
    if (this.#isClosed) {
      dialogue.kill();
      this.#check();
    }
    return dialogue;
  }

  /** Waits until another request passes its turn on. */
  async #wait(): Promise<void> {
    if (this.#waiting.length >= MOST_WAITING) throw new FileError("busy", null);
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn);
    const timer = setTimeout(() => {
      const at = this.#waiting.indexOf(turn);
      if (at >= 0) this.#waiting.splice(at, 1);
      turn.reject(new FileError("busy", null));
    }, WAIT_MS);
    try {
      await turn.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next.resolve();
    else this.#taken--;
  }

  #keep(dialogue: Dialogue): void {
    this.#idle = dialogue;
    this.#idleTimer = setTimeout(() => this.endIdle(), IDLE_MS);
    this.#idleTimer.unref();
    dialogue.rest(() => {
      if (this.#idle === dialogue) this.endIdle();
    });
  }

  #takeIdle(): Dialogue | null {
    const dialogue = this.#idle;
    this.#idle = null;
    clearTimeout(this.#idleTimer);
    dialogue?.wake();
    return dialogue;
  }

  /** Ends the program that waits for a request. @returns whether there was one. */
  endIdle(): boolean {
    const dialogue = this.#takeIdle();
    dialogue?.kill();
    return dialogue !== null;
  }
}
