import { EVIDENCE_FACTS, evidenceSchema, rlimitSchema } from "../../domain/evidence-facts.ts";
import { schemaOf } from "../../domain/facts.ts";
import { causeSchema, metricsSchema, outputSchema, recordSchema, resultSchema } from "../../domain/record.ts";
import { named } from "../named-schemas.ts";

/** The names that the record and its parts have in /openapi.json. */

named("Cause", causeSchema);
named("Rlimit", rlimitSchema);
named("Result", resultSchema);
named("Output", outputSchema);
named("Metrics", metricsSchema);
named("Isolation", schemaOf(EVIDENCE_FACTS.isolation));
named("AppliedLimits", schemaOf(EVIDENCE_FACTS.limits));
named("Teardown", schemaOf(EVIDENCE_FACTS.teardown));
named("Evidence", evidenceSchema);
export const record = named("Record", recordSchema);
