import type { ForeignApi, ForeignApis } from "../domain/foreign-api.ts";
import { JUDGE0_API } from "./judge0/api.ts";

/** The APIs of other services whose submissions have something that only these APIs know. Piston's submissions have nothing of the kind. */
const ALL: readonly ForeignApi[] = [JUDGE0_API];

export const FOREIGN_APIS: ForeignApis = new Map(ALL.map((api) => [api.name, api]));
