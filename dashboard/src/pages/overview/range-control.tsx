import { Button, SegmentedControl } from "@mantine/core";
import { WINDOWS, type Window } from "../../../../src/http/dashboard/api/overview.ts";
import css from "./overview.module.css";

/** The range of the charts in the URL: a window up to now, or two times in milliseconds since the epoch. */
export interface RangeInAddress {
  readonly window?: Window | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const LABELS: Readonly<Record<Window, string>> = {
  "15m": "15 min",
  "1h": "1 h",
  "24h": "24 h",
  "7d": "7 d",
  "30d": "30 d",
};
const MINUTE_MS = 60_000;
const LEAST_MS = 5 * MINUTE_MS;
const MOST_MS = 30 * 24 * 60 * MINUTE_MS;

interface Props {
  readonly range: RangeInAddress;
  /** The start and the end of the charts that are shown, in milliseconds since the epoch. */
  readonly shown: { readonly fromMs: number; readonly toMs: number };
  readonly onChange: (range: RangeInAddress) => void;
}

/** Buttons that choose, move and zoom the range of the charts, also by keyboard. */
export function RangeControl({ range, shown: { fromMs, toMs }, onChange }: Props) {
  const length = toMs - fromMs;
  const move = (from: number, to: number) => {
    const end = Math.min(to, Date.now());
    const begin = Math.max(end - (to - from), Date.now() - MOST_MS);
    onChange({ from: Math.round(begin), to: Math.round(end) });
  };
  const isCustom = range.from !== undefined;
  const acts = [
    [
      "Earlier",
      () => move(fromMs - length / 2, toMs - length / 2),
      toMs - length / 2 < Date.now() - MOST_MS + LEAST_MS,
    ],
    ["Later", () => move(fromMs + length / 2, toMs + length / 2), toMs >= Date.now()],
    ["Zoom in", () => move(fromMs + length / 4, toMs - length / 4), length <= LEAST_MS],
    ["Zoom out", () => move(fromMs - length / 2, toMs + length / 2), length >= MOST_MS],
  ] as const;
  return (
    <div className={css.rangeControl}>
      <SegmentedControl
        size="xs"
        aria-label="Range of the charts, up to now"
        value={isCustom ? "" : (range.window ?? "24h")}
        data={WINDOWS.map((value) => ({ value, label: LABELS[value] }))}
        onChange={(window) => onChange({ window: window as Window })}
      />
      <div className={css.rangeButtons}>
        {acts.map(([label, act, isDisabled]) => (
          <Button key={label} size="compact-xs" variant="default" onClick={act} disabled={isDisabled}>
            {label}
          </Button>
        ))}
      </div>
    </div>
  );
}
