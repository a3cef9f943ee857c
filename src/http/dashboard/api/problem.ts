/**
 * Requests and responses of the dashboard, as JSON below /dashboard/api. Both sides are compiled against this
 * directory: the routes return these types, and dashboard/ imports only these and src/domain/ from the service.
 * Times are ISO 8601 text, durations milliseconds, sizes bytes. A list is complete or has `next`; it is never silently
 * cut off.
 */

/** An error; the text is displayed. */
export interface Problem {
  readonly error: string;
}
