import type { WorkFile } from "../domain/report.ts";
import { encodeStep, type KeptPlace, type Step } from "./step.ts";

/** KEPT_PLACES of the launcher. */
const PLACES = 4;

interface KeptList {
  readonly place: number;
  readonly owner: string;
  readonly files: readonly WorkFile[];
}

/**
 * The lists of files that a slot of the launcher keeps for later steps, the least recently used one first. A new list takes the
 * place of one of the account that would have the most lists: an account with one list loses it only to as many other accounts.
 */
export class KeptPlaces {
  #kept: readonly KeptList[] = [];

  /** The STEP frame of a step for this slot, which must be sent. */
  encode(step: Step): Buffer[] {
    const { files, repeatsOf: owner } = step;
    if (files.length === 0 || owner === undefined) return encodeStep(step);
    const found = this.#find(files, owner);
    const frame = encodeStep(step, found);
    this.#kept = [...this.#kept.filter((one) => one.place !== found.place), { place: found.place, owner, files }];
    return frame;
  }

  /** The place for these files: their own, a free one, or that of another list. */
  #find(files: readonly WorkFile[], owner: string): KeptPlace {
    const own = this.#kept.find((one) => one.files === files);
    if (own) return { place: own.place, sent: true };
    if (this.#kept.length < PLACES) return { place: this.#kept.length + 1, sent: false };
    const amountOf = (account: string) =>
      this.#kept.filter((one) => one.owner === account).length + (account === owner ? 1 : 0);
    const most = Math.max(...this.#kept.map((one) => amountOf(one.owner)));
    const replaced = this.#kept.find((one) => amountOf(one.owner) === most);
    return { place: replaced?.place ?? 1, sent: false };
  }
}
