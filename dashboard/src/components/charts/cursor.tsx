import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import type { Span, Times } from "./times.ts";

interface Cursor extends Times {
  /** The bucket under the pointer or chosen by keys. */
  readonly at: number | null;
  readonly choose: (at: number | null) => void;
  readonly selected: Span | null;
  readonly select: (span: Span | null) => void;
  /** Shows only these buckets; absent where charts have a fixed range. */
  readonly zoom: ((span: Span) => void) | undefined;
}

const Context = createContext<Cursor | null>(null);

interface Props extends Times {
  readonly zoom?: (span: Span) => void;
  readonly children: ReactNode;
}

/** What is chosen in one chart is chosen in all charts inside. */
export function SharedCursor({ starts, bucketMs, zoom, children }: Props) {
  const [at, choose] = useState<number | null>(null);
  const [selected, select] = useState<Span | null>(null);
  const cursor = useMemo(() => {
    // After a change of the range, the chosen buckets can be outside of it.
    const isInside = (index: number) => index < starts.length;
    return {
      starts,
      bucketMs,
      zoom,
      at: at !== null && isInside(at) ? at : null,
      choose,
      selected: selected?.every(isInside) ? selected : null,
      select,
    };
  }, [starts, bucketMs, zoom, at, selected]);
  return <Context value={cursor}>{children}</Context>;
}

export function useCursor(): Cursor {
  const cursor = useContext(Context);
  if (!cursor) throw new Error("a chart is outside of SharedCursor");
  return cursor;
}
