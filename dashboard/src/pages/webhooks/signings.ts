/** How messages are signed: the key for HMAC is the decoded secret (`standard`), or the text of the secret (`raw`). */
export const SIGNINGS = [
  { value: "standard", label: "standard (decoded secret)" },
  { value: "raw", label: "raw (secret as text)" },
];
