import type { Found, Guide } from "./guides.ts";
import { type Html, html } from "./html.ts";
import { GUIDES_BY_KIND } from "./names.ts";

/** The menu of the pages below /docs: the search, a link to the page of all endpoints, and links to the documents by their kind. */
export function guideMenu(guides: readonly Guide[], current?: string, query = ""): Html {
  const item = (path: string, title: string) =>
    html`<li><a href="${path}"${path === current ? html` aria-current="page"` : ""}>${title}</a></li>`;
  const kinds = Object.entries(GUIDES_BY_KIND).map(([kind, names]) => {
    const listed = guides.filter(({ path }) => names.some((name) => path === `/docs/${name}`));
    return html`<h2>${kind}</h2>
<ul>${listed.map(({ path, title }) => item(path, title))}</ul>`;
  });
  return html`<form class="search" action="/docs/search" role="search">
<label>Search<input type="search" name="q" maxlength="100" value="${query}"></label>
</form>
<ul>${item("/docs", "All endpoints")}</ul>
${kinds}`;
}

/** The page of a document. Its menu also has the headings of the document. */
export function guidePage(guides: readonly Guide[], guide: Guide): string {
  const headings = guide.sections.slice(1).map(({ anchor, title }) => html`<li><a href="#${anchor}">${title}</a></li>`);
  const menu = html`${guideMenu(guides, guide.path)}<h2>On this page</h2><ul>${headings}</ul>`;
  return page(guide.title, menu, html`<article class="guide">${guide.html}</article>`);
}

/** The page with the results of a search. */
export function searchPage(guides: readonly Guide[], query: string, found: readonly Found[]): string {
  const results = found.map(
    ({ href, guide, title, excerpt }) =>
      html`<li><a href="${href}">${title}</a> <span class="note">${guide}</span><p>${excerpt}</p></li>`,
  );
  const list = html`<article class="guide"><h1>Search</h1>
<p class="lead">${found.length === 0 ? "No section has all words of" : html`${found.length} sections for`} “${query}”</p>
<ul class="found">${results}</ul></article>`;
  return page("Search", guideMenu(guides, undefined, query), list);
}

function page(title: string, menu: Html, main: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Assay</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<div class="bar"><a class="brand" href="/docs"><img src="/docs/icon.svg" alt="" width="28" height="28"> Assay <span>Documents</span></a></div>
</header>
<div class="columns">
<nav aria-label="Documents">${menu}</nav>
<main id="main">${main}</main>
</div>
</body>
</html>
`.text;
}
