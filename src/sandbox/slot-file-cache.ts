import type { WorkFile } from "../domain/report.ts";
import { bytesOf, type CachedFiles, encodeStep, MAX_FILE_SET_BYTES, type Step } from "./step.ts";

/** How many lists a slot keeps: FILE_SETS_MAX of the launcher. */
const MAX_LISTS = 4;

interface CachedList {
  readonly number: number;
  readonly owner: string;
  readonly files: readonly WorkFile[];
}

/**
 * The lists of files that a slot of the launcher keeps for later steps, the least recently used list first. Each list has a number. If no
 * number is free, a new list replaces the least recently used list of the account that would have the most lists. Four other accounts
 * must therefore use the slot before an account loses its only list. A list that is too large is sent with each step, so that it does not
 * fill the memory of the launcher.
 */
export class SlotFileCache {
  #lists: readonly CachedList[] = [];

  /** The STEP frame of a step for this slot. It must be sent, because this object then counts its files as kept by the slot. */
  encode(step: Step): Buffer[] {
    const { files, fileOwner: owner } = step;
    if (files.length === 0 || owner === undefined || bytesOf(files) > MAX_FILE_SET_BYTES) return encodeStep(step);
    const found = this.#find(files, owner);
    const frame = encodeStep(step, found);
    this.#lists = [...this.#lists.filter((one) => one.number !== found.number), { number: found.number, owner, files }];
    return frame;
  }

  /** The number for these files: the one that they have, a free one, or that of the list that they replace. */
  #find(files: readonly WorkFile[], owner: string): CachedFiles {
    const own = this.#lists.find((one) => one.files === files);
    if (own) return { number: own.number, isCached: true };
    if (this.#lists.length < MAX_LISTS) return { number: this.#lists.length + 1, isCached: false };
    const amountOf = (account: string) =>
      this.#lists.filter((one) => one.owner === account).length + (account === owner ? 1 : 0);
    const most = Math.max(...this.#lists.map((one) => amountOf(one.owner)));
    const replaced = this.#lists.find((one) => amountOf(one.owner) === most);
    return { number: replaced?.number ?? 1, isCached: false };
  }
}
