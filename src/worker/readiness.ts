import type { Language } from "../domain/language.ts";
import { type Check, faultyCheck, notReady, type Readiness } from "../domain/readiness.ts";
import type { Languages } from "../languages/load.ts";
import { Slot } from "../sandbox/slot.ts";
import { proveLanguage } from "./proof.ts";

/** How old a proof may be. Each one is a whole run, so clients cannot ask for more than one in this time. */
const PROOF_HOLDS_MS = 5_000;

const STOPPING = "the service is stopping";

/**
 * Whether submissions can be run with full isolation: proven by a run on a slot of its own, so
 * that neither a busy service looks broken nor a broken one healthy.
 */
export class Prover {
  readonly #socketPath: string;
  readonly #languages: Languages;
  readonly #onProof: (check: Check) => void;
  #slot: Slot | null = null;
  #newest: { readonly atMs: number; readonly readiness: Readiness } | null = null;
  #underWay: Promise<Readiness> | null = null;
  #proven: readonly Check[] = [];
  #interrupted = false;
  #next = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param onProof told of each proof of readiness, because those who ask are not told everything. */
  constructor(socketPath: string, languages: Languages, onProof: (check: Check) => void = () => {}) {
    this.#socketPath = socketPath;
    this.#languages = languages;
    this.#onProof = onProof;
  }

  /** Runs every language's hello, one after another. Languages that fail are not offered. */
  async proveAll(): Promise<readonly Check[]> {
    this.#proven = await this.#proveEach(this.#languages.list());
    return this.#proven;
  }

  /** The same for those that have failed, beside whatever else is proven. @returns their checks. */
  async proveRest(): Promise<readonly Check[]> {
    const working = this.working();
    const checks = await this.#proveEach(this.#languages.list().filter(({ name }) => !working.includes(name)));
    this.#proven = this.#proven.map((check) => checks.find(({ name }) => name === check.name) ?? check);
    return checks;
  }

  /**
   * Runs one more language's hello, each in its turn: what was proven when the service started may be damaged while it
   * is used, and would judge programs falsely. A language is missing from then on, until its turn comes again, if it has
   * failed twice; what lost its slot or its time says nothing of the language.
   * @returns its check, where that changed what is offered.
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

  async #proveEach(languages: readonly Language[]): Promise<readonly Check[]> {
    const checks: Check[] = [];
    this.#interrupted = false;
    for (const language of languages) checks.push(await this.#prove(language));
    return checks;
  }

  /** Whether a slot was lost in the newest round of proofs: what failed may work. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** Names of the languages whose hello was AC. */
  working(): readonly string[] {
    return this.#proven.filter(({ ok }) => ok).map(({ name }) => name);
  }

  /** Never rejects. */
  readiness(): Promise<Readiness> {
    const ageMs = Date.now() - (this.#newest?.atMs ?? 0);
    // A proof of the future is one of before the clock was set back.
    if (this.#newest && ageMs >= 0 && ageMs < PROOF_HOLDS_MS) return Promise.resolve(this.#newest.readiness);
    this.#underWay ??= this.#renew().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  close(): void {
    this.#closed = true;
    this.#slot?.close();
  }

  /** What could not be tried at all is not kept: the next one who asks may find more. */
  async #renew(): Promise<Readiness> {
    if (this.#proven.length === 0) return notReady("the languages are still being tried");
    const probe = this.#quickest();
    if (!probe) return { ready: false, cgroupBackend: null, checks: this.#proven };
    const readiness = await this.#proveBy(probe);
    this.#newest = { atMs: Date.now(), readiness };
    return readiness;
  }

  /** The quickest working language stands for the controls, which are the same for all. */
  #quickest(): Language | undefined {
    const working = this.#languages.list().filter(({ name }) => this.working().includes(name));
    return working.find(({ compile }) => compile === null) ?? working[0];
  }

  async #proveBy(probe: Language): Promise<Readiness> {
    const run = await this.#prove(probe);
    this.#onProof(run);
    const detail = run.ok ? "every control held in a run just now" : run.detail;
    const sandbox = { ...run, name: "sandbox", detail };
    const backend = this.#slot?.hello.backend ?? null;
    const checks = [sandbox, ...hostChecks(this.#slot), ...this.#proven];
    return { ready: run.ok && backend !== null, cgroupBackend: run.ok ? backend : null, checks };
  }

  /** One at a time: there is one slot. */
  #prove(language: Language): Promise<Check> {
    const check = this.#turn.then(() => this.#proveNow(language));
    this.#turn = check;
    return check;
  }

  async #proveNow(language: Language): Promise<Check> {
    try {
      const slot = await this.#connected();
      const check = await proveLanguage(slot, this.#languages, language);
      if (!slot.alive) this.#interrupted = true;
      return check;
    } catch (error) {
      this.#interrupted = true;
      return this.#closed ? { name: language.name, ok: false, detail: STOPPING } : faultyCheck(language.name, error);
    }
  }

  async #connected(): Promise<Slot> {
    if (this.#closed) throw new Error(STOPPING);
    if (this.#slot?.alive) return this.#slot;
    const slot = await Slot.open(this.#socketPath);
    if (this.#closed) {
      slot.close(); // or it would keep the process
      throw new Error(STOPPING);
    }
    this.#slot = slot;
    return slot;
  }
}

/** Which sources of evidence this host has. Each is either there or has a documented fallback. */
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
      detail: pressure ? "pressure of the box itself" : "none: host interference is not recognised",
    },
  ];
}
