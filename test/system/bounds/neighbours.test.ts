import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TOO_LONG } from "../../support/engine/long.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { AGENT, beside, buildNeighbours, JUDGE, type Limits, type Meeting } from "./neighbours.ts";

/**
 * Allowed ratio of a program's time alongside a hostile neighbour to its time alongside a neighbour that only computes.
 */
const MOST = 1.25;
/** A kernel thread collects circles of sockets in flight on any CPU, and no group is charged for its time. */
const mostFor = (hostile: string): number => (hostile === "circles" ? 3 : MOST);

/** Other work of the machine affects some runs more than others. A broken bound fails in every try. */
const TRIES = 4;

/** Modes of neighbours.c. */
const HONEST = ["compute", "start", "pipes"];
const HOSTILE = [
  "busy-60",
  "pass-a-byte",
  "pass-a-futex",
  "fork-and-exit",
  "vfork-and-exec",
  "move-between-cpus",
  "threads-that-exit",
  "change-protection",
  "barriers",
  "signals",
  "timers",
  "output",
  "stream-memory",
  "touch-and-drop",
  "files",
  "look-ups",
  "read-image",
  "circles",
];

const PROFILES: Readonly<Record<string, Limits>> = { judge: JUDGE, ...(!TOO_LONG && { agent: AGENT }) };

describe("a program alongside a hostile neighbour", () => {
  let launcher: Launcher;
  let program: Buffer;
  before(async () => {
    program = buildNeighbours();
    launcher = await startLauncher();
  });
  after(() => launcher.stop());

  for (const [profile, limits] of Object.entries(PROFILES))
    for (const honest of TOO_LONG ? HONEST.slice(0, 1) : HONEST)
      for (const hostile of HOSTILE)
        test(`${profile}, ${honest} alongside ${hostile}: at most ${mostFor(hostile)} times as long as alongside one busy process`, async (t) => {
          const ratios: string[] = [];
          const meet = async (neighbour: string): Promise<Meeting> => {
            const meeting = await beside(launcher.socket, program, honest, neighbour, limits);
            assert.equal(meeting.ended.optionalInt("EXIT_CODE"), 0, neighbour);
            assert.equal(meeting.ended.text("KILL_REASON"), "none", neighbour);
            return meeting;
          };
          for (let tries = 0; tries < TRIES; tries++) {
            const ratio = (await meet(hostile)).wallMs / (await meet("busy")).wallMs;
            ratios.push(ratio.toFixed(2));
            if (ratio <= mostFor(hostile)) break;
          }
          t.diagnostic(`${profile} ${honest} ${hostile}: ${ratios.join(", ")}`);
          assert.ok(Number(ratios.at(-1)) <= mostFor(hostile), `${ratios.join(", ")} times as long`);
        });
});
