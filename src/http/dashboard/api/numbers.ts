/** How checkers compare numbers: the dashboard marks the lines that differ by the same rules. */
export { isClose } from "../../../domain/decimal.ts";
