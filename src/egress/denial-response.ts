/*
 * The response to a request over plain HTTP that is denied. It is the only way to say the reason to a program in its own words: a name that does not exist and a
 * reset connection have none, and TLS hides the request.
 */

/** Where programs expect HTTP. */
export const HTTP_PORT = 80;

/** @param reason for the record of the execution: printable, without secrets. */
export function denialResponse(reason: string): Buffer {
  const body = Buffer.from(`${reason}\n`);
  const head = [
    "HTTP/1.1 403 Forbidden",
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${body.length}`,
    "Proxy-Status: assay; error=http_request_denied", // RFC 9209
    "Connection: close",
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}
