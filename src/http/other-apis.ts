import type { IncomingHttpHeaders } from "node:http";
import type { ClientError } from "../domain/error.ts";
import { PISTON, pistonError, pistonKey } from "./piston/form.ts";

/** The API of another service: below a path of its own, keys and errors have its form. */
interface OtherApi {
  readonly path: string;
  readonly keyOf: (headers: IncomingHttpHeaders) => string | string[] | undefined;
  readonly errorBody: (error: ClientError) => object;
}

const APIS: readonly OtherApi[] = [{ path: PISTON, keyOf: pistonKey, errorBody: pistonError }];

/** @returns the API to which the path of a request belongs, also if there is no such route; undefined for our own. */
export function otherApi(url: string): OtherApi | undefined {
  return APIS.find(({ path }) => url.startsWith(path) && /^[/?]?$/.test(url.charAt(path.length)));
}
