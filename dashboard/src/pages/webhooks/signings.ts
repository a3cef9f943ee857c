/** How receivers use the secret. */
export const SIGNINGS = [
  { value: "standard", label: "standard (decoded secret)" },
  { value: "raw", label: "raw (secret as text)" },
];
