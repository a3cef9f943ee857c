import { z } from "zod";
import { profileSchema, statusSchema, verdictSchema } from "../../domain/record.ts";
import { named } from "../named-schemas.ts";

/** Fields that several bodies have. */

export const count = z.int().min(0);
export const time = z.iso.datetime();
export const submissionId = z.uuid().describe("Id of the submission");
export const verdict = named("Verdict", verdictSchema);
export const profile = named("Profile", profileSchema);
export const status = named("Status", statusSchema);
export const next = z
  .string()
  .nullable()
  .describe("The value of `before` for the next page; null if there are no older entries");
