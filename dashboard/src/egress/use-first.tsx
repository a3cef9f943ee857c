import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { count } from "../components/format.ts";
import css from "./egress.module.css";

/**
 * The beginning of a list that programs can make long, and a button that shows all of it.
 * @param what Plural noun for the entries.
 * @returns the entries to show; the button, or null if all are shown.
 */
export function useFirst<T>(all: readonly T[], most: number, what: string): [readonly T[], ReactNode] {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || all.length <= most) return [all, null];
  return [
    all.slice(0, most),
    <Button key="all" variant="default" size="compact-sm" className={css.more} onClick={() => setWhole(true)}>
      Show all {count(all.length)} {what}
    </Button>,
  ];
}
