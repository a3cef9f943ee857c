/** How a receiver reads the secret. */
export const SIGNINGS = [
  { value: "standard", label: "standard (decoded)" },
  { value: "raw", label: "raw (its characters)" },
];
