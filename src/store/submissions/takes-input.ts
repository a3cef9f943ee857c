import type { Row } from "../database/schema.ts";

/**
 * The mark of release 0.1.0 for a submission that takes input, which that release has in `live` instead of `takes_input`. During an upgrade,
 * it accepts and claims submissions alongside this release, so the mark is written and read as well. The release after this one needs neither.
 */
const MARK = 2;

type LiveColumns = Pick<Row<"submissions">, "live" | "takes_input">;

/** @param live whether a user may watch the run. @param takes whether clients give the program input while it runs. */
export function liveColumns(live: boolean, takes: boolean): LiveColumns {
  return takes ? { live: MARK, takes_input: 1 } : { live: live ? 1 : null, takes_input: null };
}

/** Whether clients give the program input while it runs. */
export function takesInput({ live, takes_input: takes }: LiveColumns): boolean {
  return takes !== null || live === MARK;
}
