import type { ForeignRoutes } from "../../http/foreign-routes.ts";
import { JUDGE0, judge0Key } from "./conventions.ts";
import { infoRoutes } from "./info.ts";
import { judge0SubmissionRoutes } from "./submissions.ts";

/** The routes of Judge0 CE below /judge0, for existing clients of Judge0. docs/judge0.md lists the differences. */
export const JUDGE0_ROUTES: ForeignRoutes = {
  path: JUDGE0,
  keyOf: judge0Key,
  add: (server, { dependencies, answers, stopping }) => {
    judge0SubmissionRoutes(server, dependencies, answers, stopping);
    infoRoutes(server, dependencies);
  },
};
