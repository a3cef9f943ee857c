import { z } from "zod";
import { PROFILE_NAMES } from "../../domain/limits.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import { named } from "../named-schemas.ts";

/** Fields that several bodies have. */

export const count = z.int().min(0);
export const time = z.iso.datetime();
export const submissionId = z.uuid().describe("Id of the submission");
export const verdict = named("Verdict", z.enum(VERDICTS));
export const profile = named("Profile", z.enum(PROFILE_NAMES));
export const status = named("Status", z.enum(["pending", "running", "completed", "error"]));
export const next = z
  .string()
  .nullable()
  .describe("The value of `before` for the next page; null if there are no older entries");
