import { NativeSelect } from "@mantine/core";

const HOUR_MS = 3_600_000;
const OVERLAPS = [
  { label: "1 hour", ms: HOUR_MS },
  { label: "1 day", ms: 24 * HOUR_MS },
  { label: "7 days", ms: 7 * 24 * HOUR_MS },
  { label: "30 days", ms: 30 * 24 * HOUR_MS },
];

/**
 * The field `overlap` of a form: how long the old key or secret stays valid, in milliseconds.
 * @param none The label of the choice without an overlap.
 */
export function OverlapSelect({ none }: { none: string }) {
  const choices = [{ label: none, ms: 0 }, ...OVERLAPS];
  return (
    <NativeSelect
      label="Overlap"
      name="overlap"
      defaultValue={String(24 * HOUR_MS)}
      data={choices.map(({ label, ms }) => ({ label, value: String(ms) }))}
    />
  );
}
