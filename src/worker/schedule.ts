/**
 * Decides what a worker does next with submissions: which it claims, starts, drops or gives back, and when. The decisions depend only on
 * the state that is passed, so that tests can state them as a table. src/worker/claim-loop.ts carries them out.
 */

/** So many submissions are claimed ahead for one slot that their expected times add up to at most this time. */
const AHEAD_MS = 60;
/** The most submissions that are claimed ahead for one slot. */
const MAX_AHEAD = 16;
/** How long a claimed submission may wait for a slot of this worker by default. */
export const HOLD_MS = 100;
/**
 * How many of the last runs are known. The next runs are expected to take their median, so that a single long run, such as one with a
 * compile step, changes nothing.
 */
export const RECENT_RUNS = 7;

/**
 * How many outputs of one account may wait for their comparison without a slot. While an account has this many, no submission of it
 * starts. Otherwise, outputs would fill the memory of the worker, because a comparison can take much longer than a run.
 */
const MOST_COMPARING = 4;

/**
 * How many boxes of cancelled runs of one account may still have to be removed. While an account has this many, no submission of it
 * starts: a cancelled run no longer counts for the concurrency of its key, so that one key could otherwise occupy all slots with programs
 * that end late.
 */
const MOST_ENDING = 4;

/** A submission that the worker has claimed and that has not started. */
export interface HeldSubmission {
  readonly accountId: string;
  /** When it was claimed, in the time of `nowMs`. */
  readonly claimedMs: number;
  /** Whether the worker no longer has its lease, for example because it was cancelled. */
  readonly isAbandoned: boolean;
}

export interface ScheduleState<Held extends HeldSubmission> {
  readonly nowMs: number;
  /** How many submissions the worker may run at the same time. */
  readonly workers: number;
  readonly slots: {
    /** How many submissions may run in addition to those that run; negative if too many run. */
    readonly headroom: number;
    readonly free: number;
    /** Slots that are free or in use. */
    readonly alive: number;
  };
  /** The claimed submissions that have not started, in the order in which they were claimed. */
  readonly held: readonly Held[];
  /** For each account, the number of its submissions that run or whose output is compared. */
  readonly running: ReadonlyMap<string, number>;
  /** For each account, the number of its outputs that wait for a comparison without a slot. */
  readonly comparing: ReadonlyMap<string, number>;
  /** For each account, the number of its cancelled runs whose boxes have not been removed. */
  readonly ending: ReadonlyMap<string, number>;
  /** For each account that was served recently, the number of its last service, which increases with each service of any account. */
  readonly services: ReadonlyMap<string, number>;
  /** How long the last runs occupied their slots, at most RECENT_RUNS of them. */
  readonly recentMs: readonly number[];
  /** How long a claimed submission may wait for a slot: another worker may have a free slot for it. */
  readonly holdMs: number;
  /** How many submissions are claimed ahead; null: as many as the last runs suggest. */
  readonly ahead: number | null;
  /** Whether held submissions were given back since the last run ended, because the slots are busy for longer than expected. */
  readonly hasGivenBack: boolean;
  /** Whether submissions may be pending, and no claim is under way. */
  readonly mayClaim: boolean;
}

export type ScheduleAction<Held extends HeldSubmission> =
  | { readonly kind: "drop"; readonly held: Held }
  | { readonly kind: "start"; readonly held: Held }
  /** Gives back all held submissions. */
  | { readonly kind: "giveBack" }
  /** Claims submissions for free slots, and some more ahead, but none of the barred accounts. */
  | { readonly kind: "claim"; readonly startable: number; readonly ahead: number; readonly barred: readonly string[] }
  /** Nothing is left to do until the state changes, or until this time; null: no time matters. */
  | { readonly kind: "wait"; readonly untilMs: number | null };

/** The next action. The caller carries it out, and asks again with the new state until the answer is `wait`. */
export function nextAction<Held extends HeldSubmission>(state: ScheduleState<Held>): ScheduleAction<Held> {
  const { nowMs, held, slots } = state;
  const abandoned = held.find(({ isAbandoned }) => isAbandoned);
  if (abandoned) return { kind: "drop", held: abandoned };
  const barred = barredAccounts(state);
  const startable = Math.max(Math.min(slots.headroom, slots.free), 0);
  const first = startable > 0 ? firstOf(state, barred) : undefined;
  if (first) return { kind: "start", held: first };
  const [oldest] = held;
  const untilMs = oldest ? oldest.claimedMs + state.holdMs : null;
  if (untilMs !== null && nowMs >= untilMs) return { kind: "giveBack" };
  const ahead = amountAhead(state, startable);
  if (state.mayClaim && startable + ahead > 0) return { kind: "claim", startable, ahead, barred };
  return { kind: "wait", untilMs };
}

/** Accounts of which no submission starts, because many of their outputs wait for a comparison, or many of their boxes for the end. */
function barredAccounts({ comparing, ending }: ScheduleState<HeldSubmission>): readonly string[] {
  const reached = (amounts: ReadonlyMap<string, number>, most: number) =>
    [...amounts].flatMap(([accountId, amount]) => (amount >= most ? accountId : []));
  return [...new Set([...reached(comparing, MOST_COMPARING), ...reached(ending, MOST_ENDING)])];
}

/**
 * The submission to start first: one of the account with the fewest running submissions in this worker, and of several, of the account
 * that was served least recently; of the submissions of one account, the one that was claimed first. Submissions that were claimed ahead
 * for one account therefore delay no account whose submissions were claimed later.
 */
function firstOf<Held extends HeldSubmission>(
  { held, running, services }: ScheduleState<Held>,
  barred: readonly string[],
): Held | undefined {
  let first: Held | undefined;
  let [fewest, earliest] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const one of held) {
    if (barred.includes(one.accountId)) continue;
    const [amount, service] = [running.get(one.accountId) ?? 0, services.get(one.accountId) ?? 0];
    if (amount > fewest || (amount === fewest && service >= earliest)) continue;
    [first, fewest, earliest] = [one, amount, service];
  }
  return first;
}

/**
 * How many submissions to claim ahead. Between short runs, a slot would otherwise wait for the database nearly as long as it works. While
 * runs are long, none is claimed ahead, because a claimed submission waits for this worker even if another one has a free slot. They are
 * claimed several at a time, because a claim of many costs about as much as a claim of one.
 */
function amountAhead(state: ScheduleState<HeldSubmission>, startable: number): number {
  const { workers, slots, held, recentMs, hasGivenBack } = state;
  if (hasGivenBack || slots.alive === 0) return 0;
  const sorted = recentMs.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.POSITIVE_INFINITY;
  const wanted = state.ahead ?? workers * Math.min(Math.floor(AHEAD_MS / median), MAX_AHEAD);
  const missing = Math.max(wanted - held.length, 0);
  return startable > 0 || missing > wanted / 2 ? missing : 0;
}
