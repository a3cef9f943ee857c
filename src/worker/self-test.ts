import type { Language } from "../domain/language.ts";
import { type Check, faultyCheck, notReady, type Readiness } from "../domain/readiness.ts";
import type { Languages } from "../languages/load.ts";
import { Slot } from "../sandbox/slot.ts";
import { proveLanguage } from "./proof.ts";

/** Maximum age of a proof. Clients can cause at most one proof in this time, because each proof is a complete run. */
const PROOF_HOLDS_MS = 5_000;

const STOPPING = "the service is stopping";

/**
 * Proves by runs that submissions can be run with full isolation. These runs use a slot of their own, so that a busy service does not
 * look broken, and a broken service does not look healthy.
 */
export class SelfTest {
  readonly #socketPath: string;
  readonly #languages: Languages;
  readonly #onProof: (check: Check) => void;
  /** How many smoke tests `proveAll` runs at the same time. */
  readonly #atOnce: number;
  #helpers: readonly Slot[] = [];
  #slot: Slot | null = null;
  #newest: { readonly atMs: number; readonly readiness: Readiness } | null = null;
  #underWay: Promise<Readiness> | null = null;
  #proven: readonly Check[] = [];
  #interrupted = false;
  #next = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param onProof receives each readiness proof, with the details that clients do not get. @param atOnce for `proveAll`. */
  constructor(socketPath: string, languages: Languages, onProof: (check: Check) => void = () => {}, atOnce = 1) {
    this.#socketPath = socketPath;
    this.#languages = languages;
    this.#onProof = onProof;
    this.#atOnce = atOnce;
  }

  /**
   * Runs the smoke tests of all languages before submissions run. Several tests run at the same time, each in a slot of its own.
   * Languages that fail are not offered.
   * @returns their checks, in the order of the languages.
   */
  async proveAll(): Promise<readonly Check[]> {
    this.#proven = await this.#proveEach(this.#languages.list(), this.#atOnce - 1);
    return this.#proven;
  }

  /** Hands over the additional slots of `proveAll` that are still alive, so that submissions can run in them. */
  takeHelpers(): readonly Slot[] {
    const alive = this.#helpers.filter((slot) => slot.alive);
    this.#helpers = [];
    return alive;
  }

  /** Runs the smoke tests of the failed languages again. @returns the checks of these languages. */
  async proveRest(): Promise<readonly Check[]> {
    const working = this.working();
    const checks = await this.#proveEach(this.#languages.list().filter(({ name }) => !working.includes(name)));
    this.#proven = this.#proven.map((check) => checks.find(({ name }) => name === check.name) ?? check);
    return checks;
  }

  /**
   * Runs the smoke test of the next language in turn, because a language can be damaged after the start and would then
   * cause wrong verdicts. If the test fails twice, the language is not offered until it passes in a later turn. A lost slot or a timeout
   * proves nothing about the language.
   * @returns the check of the language if it is now offered and was not before, or the reverse; otherwise undefined.
   */
  async proveNext(): Promise<Check | undefined> {
    const languages = this.#languages.list();
    const language = languages[this.#next++ % languages.length];
    const known = this.#proven.find(({ name }) => name === language?.name);
    if (!language || !known) return undefined;
    const first = await this.#prove(language);
    const check = first.ok ? first : await this.#prove(language);
    if (check.ok === known.ok || check.fault !== undefined || check.late || this.#closed) return undefined;
    this.#proven = this.#proven.map((one) => (one.name === check.name ? check : one));
    return check;
  }

  async #proveEach(languages: readonly Language[], helpers = 0): Promise<readonly Check[]> {
    const checks: Check[] = [];
    this.#interrupted = false;
    const queue = languages.entries();
    const earlier = this.#helpers.filter((slot) => slot.alive);
    this.#helpers = earlier;
    const help = async (_: unknown, n: number) => {
      const slot = earlier[n] ?? (await this.#helper());
      if (!slot) return;
      for (const [at, language] of queue) {
        checks[at] = await this.#proveIn(slot, language);
        if (!slot.alive) return;
      }
    };
    const first = async () => {
      for (const [at, language] of queue) checks[at] = await this.#prove(language);
    };
    // Helpers must not take the only slot.
    if (helpers > 0) await this.#inTurn(() => this.#connected()).catch(() => undefined);
    await Promise.all([first(), ...Array.from({ length: helpers }, help)]);
    return checks;
  }

  /**
   * Opens an additional slot.
   * @returns undefined if there is none. The first slot then tests all languages; if it fails as well, the checks have the reason.
   */
  async #helper(): Promise<Slot | undefined> {
    const slot = await Slot.open(this.#socketPath).catch(() => undefined);
    if (slot && !this.#closed) this.#helpers = [...this.#helpers, slot];
    else slot?.close();
    return this.#closed ? undefined : slot;
  }

  /** Whether a slot was lost, or the platform failed, in the last round of smoke tests. Languages that failed may then work. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** Names of the languages that passed their smoke test. */
  working(): readonly string[] {
    return this.#proven.filter(({ ok }) => ok).map(({ name }) => name);
  }

  /** The newest proof, or a new one if that is too old. Never rejects. */
  readiness(): Promise<Readiness> {
    const ageMs = Date.now() - (this.#newest?.atMs ?? 0);
    // A proof from the future was made before the clock was set back.
    if (this.#newest && ageMs >= 0 && ageMs < PROOF_HOLDS_MS) return Promise.resolve(this.#newest.readiness);
    this.#underWay ??= this.#renew().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  close(): void {
    this.#closed = true;
    this.#slot?.close();
    for (const slot of this.#helpers) slot.close();
  }

  /** Makes a new proof. A result without a proof is not kept, so that the next request tries again. */
  async #renew(): Promise<Readiness> {
    if (this.#proven.length === 0) return notReady("the languages are still being tested");
    const probe = this.#quickest();
    if (!probe) return { ready: false, cgroupBackend: null, checks: this.#proven };
    const readiness = await this.#proveBy(probe);
    this.#newest = { atMs: Date.now(), readiness };
    return readiness;
  }

  /** A working language, if possible one without a compile step, for a quick proof. All languages have the same controls. */
  #quickest(): Language | undefined {
    const working = this.#languages.list().filter(({ name }) => this.working().includes(name));
    return working.find(({ compile }) => compile === null) ?? working[0];
  }

  async #proveBy(probe: Language): Promise<Readiness> {
    const run = await this.#prove(probe);
    this.#onProof(run);
    const detail = run.ok ? "every control was in force in a run just now" : run.detail;
    const sandbox = { ...run, name: "sandbox", detail };
    const backend = this.#slot?.hello.backend ?? null;
    const checks = [sandbox, ...hostChecks(this.#slot), ...this.#proven];
    return { ready: run.ok && backend !== null, cgroupBackend: run.ok ? backend : null, checks };
  }

  /** Runs the smoke test of a language in the first slot, after those that were asked for before. */
  #prove(language: Language): Promise<Check> {
    return this.#inTurn(() => this.#proveNow(language));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #proveNow(language: Language): Promise<Check> {
    try {
      return await this.#proveIn(await this.#connected(), language);
    } catch (error) {
      this.#interrupted = true;
      return this.#closed ? { name: language.name, ok: false, detail: STOPPING } : faultyCheck(language.name, error);
    }
  }

  async #proveIn(slot: Slot, language: Language): Promise<Check> {
    const check = await proveLanguage(slot, this.#languages, language);
    if (!slot.alive || check.isPlatformFailure) this.#interrupted = true;
    return check;
  }

  async #connected(): Promise<Slot> {
    if (this.#closed) throw new Error(STOPPING);
    if (this.#slot?.alive) return this.#slot;
    const slot = await Slot.open(this.#socketPath);
    if (this.#closed) {
      slot.close(); // an open slot would keep the process alive
      throw new Error(STOPPING);
    }
    this.#slot = slot;
    return slot;
  }
}

/** Which optional sources of evidence this host has. Their absence is no failure, because each has a documented fallback. */
function hostChecks(slot: Slot | null): Check[] {
  if (!slot) return [];
  const { signalSource, pressure } = slot.hello;
  return [
    {
      name: "file_size_evidence",
      ok: true,
      detail: signalSource === "bpf" ? "kernel tracepoint" : "fallback: the signal alone",
    },
    {
      name: "pressure_evidence",
      ok: true,
      detail: pressure ? "pressure of the box's own cgroup" : "none: host interference is not detected",
    },
  ];
}
