import { CONNECTION_ENDS, type ConnectionEnd } from "./egress-record.ts";

/** Why a connection was denied: by the rules, by the address to which the name leads, by what the program sent, or by the number of connections. */
export const DENIALS = ["policy", "address", "request", "connections"] as const;
export type Denial = (typeof DENIALS)[number];

/** How a connection ended, or why it was denied, as a label of a metric. */
export type StreamOutcome = ConnectionEnd | `denied_${Denial}`;
export const STREAM_OUTCOMES: readonly StreamOutcome[] = [
  ...CONNECTION_ENDS,
  ...DENIALS.map((denial) => `denied_${denial}` as const),
];
