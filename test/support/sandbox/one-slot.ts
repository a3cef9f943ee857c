import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Slot } from "../../../src/sandbox/slot.ts";
import { type Launcher, startLauncher } from "../launcher/launcher.ts";

/** Opens the only slot of a new launcher for all tests of a file. @param use receives it before the first test. */
export function useSlot(use: (slot: Slot) => void): void {
  let launcher: Launcher;
  let slot: Slot | undefined;
  before(async () => {
    launcher = await startLauncher({ slots: 1 });
    slot = await Slot.open(launcher.socket);
    use(slot);
  });
  after(async () => {
    slot?.close();
    assert.equal(await launcher.stop(), 0, launcher.stderr());
  });
}
