import { join } from "node:path";
import { buildGoJudge, startGoJudge } from "../peers/go-judge.ts";
import type { Bench } from "../sandboxes.ts";
import { timed } from "../service.ts";

/** Measures `true` on go-judge, with the programs of the same image. @returns the times in ms, or why there are none. */
export async function peerTrue(
  { image, built, directory, times }: Bench,
  amount: number,
): Promise<{ readonly times: readonly number[] } | { readonly note: string }> {
  const program = await buildGoJudge(built);
  if (!program) return { note: "Go is not installed, so go-judge cannot be built" };
  const peer = await startGoJudge(program, join(image, "rootfs"), directory);
  try {
    for (let at = 0; at < times(200, 5); at++) await peer.execute(["/usr/bin/true"]);
    const measured: number[] = [];
    for (let at = 0; at < amount; at++) measured.push(await timed(() => peer.execute(["/usr/bin/true"])));
    return { times: measured };
  } finally {
    await peer.stop();
  }
}
