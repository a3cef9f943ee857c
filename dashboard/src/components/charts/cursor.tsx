import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import type { BucketSelection, Times } from "./times.ts";

interface Cursor extends Times {
  /** The index of the bucket that the pointer or the arrow keys chose; null: none. */
  readonly at: number | null;
  readonly choose: (at: number | null) => void;
  readonly selected: BucketSelection | null;
  readonly select: (span: BucketSelection | null) => void;
  /** Makes the charts show only these buckets; undefined where the range of the charts is fixed. */
  readonly zoom: ((span: BucketSelection) => void) | undefined;
}

const Context = createContext<Cursor | null>(null);

interface Props extends Times {
  readonly zoom?: (span: BucketSelection) => void;
  readonly children: ReactNode;
}

/** A bucket or a span that is chosen in one of the charts inside is chosen in all of them. */
export function SharedCursor({ starts, bucketMs, zoom, children }: Props) {
  const [at, choose] = useState<number | null>(null);
  const [selected, select] = useState<BucketSelection | null>(null);
  const cursor = useMemo(() => {
    // After a change of the range, the chosen buckets may no longer exist.
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
