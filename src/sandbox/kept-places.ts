import type { WorkFile } from "../domain/report.ts";
import { encodeStep, type KeptPlace, type Step } from "./step.ts";

/** KEPT_PLACES of the launcher. */
const PLACES = 4;

/** The lists of files that a slot of the launcher keeps for later steps, the least recently used one first. */
export class KeptPlaces {
  #kept: readonly { readonly place: number; readonly files: readonly WorkFile[] }[] = [];

  /** The STEP frame of a step for this slot, which must be sent. */
  encode(step: Step): Buffer[] {
    if (step.files.length === 0 || !step.repeats) return encodeStep(step);
    const found = this.#find(step.files);
    const frame = encodeStep(step, found);
    this.#kept = [...this.#kept.filter((one) => one.place !== found.place), { place: found.place, files: step.files }];
    return frame;
  }

  /** The place for these files: their own, a free one, or that of the least recently used files. */
  #find(files: readonly WorkFile[]): KeptPlace {
    const own = this.#kept.find((one) => one.files === files);
    if (own) return { place: own.place, sent: true };
    const [oldest] = this.#kept;
    return { place: oldest && this.#kept.length === PLACES ? oldest.place : this.#kept.length + 1, sent: false };
  }
}
