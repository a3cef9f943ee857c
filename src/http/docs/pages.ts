import type { OpenApi } from "../openapi/openapi.ts";
import { guidePage, searchPage } from "./guide-page.ts";
import { readGuides, search } from "./guides.ts";
import { renderPage } from "./page.ts";

export interface Pages {
  /** The page of a document; for any other path, the reference page. @param path such as `/docs` or `/docs/api`. */
  readonly at: (path: string) => string;
  /** The page with the results of a search. */
  readonly search: (query: string) => string;
}

/** Renders the pages of /docs. Only pages with results of a search are rendered when they are requested. */
export async function renderPages(document: OpenApi): Promise<Pages> {
  const guides = await readGuides();
  const reference = renderPage(document, guides);
  const pages = new Map(guides.map((guide) => [guide.path, guidePage(guides, guide)]));
  return {
    at: (path) => pages.get(path) ?? reference,
    search: (query) => searchPage(guides, query, search(guides, query)),
  };
}
