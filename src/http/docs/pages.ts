import type { OpenApi } from "../openapi/openapi.ts";
import { guidePage, searchPage } from "./guide-page.ts";
import { readGuides, search } from "./guides.ts";
import { renderPage } from "./page.ts";

export interface Pages {
  /** @param path `/docs`, or that of a document. */
  readonly at: (path: string) => string;
  readonly search: (query: string) => string;
}

/** Renders all pages below /docs. */
export async function renderPages(document: OpenApi): Promise<Pages> {
  const guides = await readGuides();
  const reference = renderPage(document, guides);
  const pages = new Map(guides.map((guide) => [guide.path, guidePage(guides, guide)]));
  return {
    at: (path) => pages.get(path) ?? reference,
    search: (query) => searchPage(guides, query, search(guides, query)),
  };
}
