/** How many bytes that clients send or receive count against the rate limit like one request. */
const BYTES_PER_REQUEST = 4 * 1_048_576;

/** As how many requests the contents of a request or a response count, in addition to the request itself. */
export function moreRequests(bytes: number): number {
  return Math.max(Math.ceil(bytes / BYTES_PER_REQUEST) - 1, 0);
}
