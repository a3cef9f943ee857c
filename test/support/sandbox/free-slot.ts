import { setTimeout as sleep } from "node:timers/promises";
import { Slot } from "../../../src/sandbox/slot.ts";
import type { Launcher } from "../launcher/launcher.ts";

/** Opens a slot of a real launcher. The place of a slot that has just ended is free a moment later. */
export async function freeSlot({ socket }: Launcher): Promise<Slot> {
  for (;;) {
    try {
      return await Slot.open(socket);
    } catch (error) {
      if (!/slots all are taken/.test((error as Error).message)) throw error;
      await sleep(20);
    }
  }
}
