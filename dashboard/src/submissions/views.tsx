import { Button } from "@mantine/core";
import { lazy, useState } from "react";
import { Later } from "../pieces/later.tsx";
import type { Search } from "./search.ts";

/** Of each list, in this browser. */
const MAX_VIEWS = 20;
export const MAX_NAME = 40;

export interface View {
  readonly name: string;
  readonly search: Search;
}

export interface ViewsProps {
  /** A row of the list, as a noun. */
  readonly what: string;
  readonly search: Search;
  readonly onChange: (search: Search) => void;
}

const load = () => import("./views-menu.tsx");
const ViewsMenu = lazy(load);

/** Filters with a name, kept in this browser. */
export function Views(props: ViewsProps) {
  const stored = `assay-views-${props.what}`;
  const [views, setViews] = useState(() => read(stored));
  const keep = (next: readonly View[]) => {
    const kept = next.slice(-MAX_VIEWS);
    localStorage.setItem(stored, JSON.stringify(kept));
    setViews(kept);
  };
  const shown = views.find((view) => isSame(view.search, props.search));
  return (
    <Later
      load={load}
      button={(handlers) => (
        <Button variant="default" aria-haspopup="menu" {...handlers}>
          {shown ? shown.name : "Views"}
        </Button>
      )}
    >
      <ViewsMenu views={views} keep={keep} {...props} />
    </Later>
  );
}

export function isSame(one: Search, other: Search): boolean {
  const sorted = (search: Search) =>
    JSON.stringify(
      Object.entries(search)
        .filter(([, value]) => value)
        .sort(),
    );
  return sorted(one) === sorted(other);
}

/** Entries of another form, as of another version, are left out. */
function read(stored: string): readonly View[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(stored) ?? "[]");
    return Array.isArray(found) ? found.filter(isView).slice(-MAX_VIEWS) : [];
  } catch {
    return [];
  }
}

function isView(one: Partial<View> | null): one is View {
  return typeof one?.name === "string" && typeof one.search === "object" && one.search !== null;
}
