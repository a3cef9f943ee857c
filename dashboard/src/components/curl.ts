/** Stands for the API key in commands. */
export const KEY_PLACEHOLDER = "YOUR_API_KEY";

interface Request {
  readonly url: string;
  /** Path of the file with the certificate authority of the service; null if curl needs none for it. */
  readonly authority: string | null;
  readonly key: string;
  /** Sent as JSON. */
  readonly body: object;
}

/**
 * A shell command that sends a request to the public API. The body is one line that begins with a brace, so it cannot end the
 * here-document. The shell expands nothing in the body, because the word END is quoted.
 */
export function curlOf({ url, authority, key, body }: Request): string {
  const trust = authority === null ? "" : `  --cacert ${quoted(authority)} \\\n`;
  return `curl -sS ${quoted(url)} \\
${trust}  -H ${quoted(`X-API-Key: ${key}`)} \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'END'
${JSON.stringify(body)}
END
`;
}

/** Quotes a text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
