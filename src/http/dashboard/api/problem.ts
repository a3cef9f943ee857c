/**
 * The files of this directory describe the requests and responses of the dashboard's API. Paths in them are below /dashboard/api.
 * "GET /path → Type" means that the response has the type; a type in brackets before the arrow is that of the request's body. Both
 * sides are compiled against this directory: the routes return these types, and from the service, dashboard/ imports only these and
 * src/domain/. Times are ISO 8601 texts, durations are in milliseconds, and sizes in bytes. A list that is not complete has `next`
 * or another field that says so.
 */

/** The body of an error. The dashboard displays the text. */
export interface Problem {
  readonly error: string;
}
