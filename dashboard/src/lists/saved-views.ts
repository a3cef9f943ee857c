import type { Search } from "../client/search.ts";

/** The greatest number of views that a browser stores for a list. Older views are dropped. */
const MAX_VIEWS = 20;
export const MAX_NAME = 40;

export interface View {
  readonly name: string;
  readonly search: Search;
}

export interface ViewsProps {
  /** The noun for a row of the list, such as "submission". */
  readonly what: string;
  readonly search: Search;
  readonly onChange: (search: Search) => void;
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

/**
 * Reads the views. Entries of another form, which another release may have stored, are left out.
 * @param stored The key in the local storage.
 */
export function readViews(stored: string): readonly View[] {
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

/** Stores the newest of these views. @returns the views that were stored. */
export function storeViews(stored: string, views: readonly View[]): readonly View[] {
  const newest = views.slice(-MAX_VIEWS);
  localStorage.setItem(stored, JSON.stringify(newest));
  return newest;
}
