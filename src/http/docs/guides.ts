import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Marked, type Tokens } from "marked";
import { Html, html } from "./html.ts";
import { GUIDES } from "./names.ts";

const MAX_QUERY_LENGTH = 100;
/** The limits on words bound the time of a search to a millisecond, because a search needs no key. */
const MAX_WORDS = 5;
const MIN_WORD_LENGTH = 2;
const MAX_RESULTS = 20;
const EXCERPT_LENGTH = 240;

export interface Guide {
  readonly path: string;
  readonly title: string;
  readonly html: Html;
  readonly sections: readonly Section[];
}

/** A heading with the text below it, up to the next heading. */
interface Section {
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
  /** Title and text in lower case. */
  readonly searched: string;
}

/** A section that contains every word of a query. */
export interface Found {
  readonly href: string;
  readonly guide: string;
  readonly title: string;
  readonly excerpt: Html;
}

/**
 * Reads and renders the documents, one in each turn of the event loop, because each takes some milliseconds. They are part of the
 * checkout, so their markup is trusted.
 */
export async function readGuides(): Promise<Guide[]> {
  const guides: Guide[] = [];
  for (const name of GUIDES) {
    guides.push(guide(name, await readFile(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8")));
    await nextTurn();
  }
  return guides;
}

function guide(name: string, markdown: string): Guide {
  const marked = new Marked({
    renderer: {
      // The only HTML in the documents are comments that delimit generated parts.
      html: () => "",
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = targetOf(name, href);
        return target === undefined ? text : `<a href="${target}">${text}</a>`;
      },
      image: ({ text }) => text,
    },
  });
  // Tables scroll inside of their box on narrow screens.
  const rendered = marked.parse(markdown, { async: false }).replaceAll("<table>", '<div class="wide"><table>');
  const sections = sectionsOf(markdown);
  return {
    path: `/docs/${name}`,
    title: sections[0]?.title ?? name,
    html: new Html(rendered.replaceAll("</table>", "</table></div>")),
    sections,
  };
}

/** The anchor of a heading. Code hosting platforms make the same anchor, so the links in the documents work there as well. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/**
 * The address to which a link of a document leads. `href` is relative to that document. Undefined for files of the repository that the
 * service does not serve; a link to such a file becomes text.
 */
function targetOf(from: string, href: string): string | undefined {
  if (/^(https:|#)/.test(href)) return href;
  const [, file = "", fragment = ""] = /^([./a-z0-9-]+)\.md(#.*)?$/.exec(href) ?? [];
  const name = posix.join(posix.dirname(from), file);
  return GUIDES.find((known) => known === name) && `/docs/${name}${fragment}`;
}

function sectionsOf(markdown: string): Section[] {
  const sections: { anchor: string; title: string; text: string }[] = [];
  for (const token of new Marked().lexer(markdown)) {
    if (token.type === "heading") {
      const { text } = token as Tokens.Heading;
      sections.push({ anchor: anchorOf(text), title: plain(text), text: "" });
    } else if (token.type !== "html") {
      const section = sections.at(-1);
      if (section) section.text += ` ${plain(token.raw)}`;
    }
  }
  return sections.map((section) => ({ ...section, searched: `${section.title} ${section.text}`.toLowerCase() }));
}

/** The text without the characters that format it as Markdown. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\]\([^)]*\)/g, "")
    .replaceAll(/[`*[\]|]|^[-:| ]+$|^#+ |^> /gm, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** @returns the sections that contain every word of the query, sorted by how many of the words are in the title. */
export function search(guides: readonly Guide[], query: string): Found[] {
  const words = query
    .slice(0, MAX_QUERY_LENGTH)
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word.length >= MIN_WORD_LENGTH)
    .slice(0, MAX_WORDS);
  if (words.length === 0) return [];
  const found = guides.flatMap((guide) =>
    guide.sections
      .filter(({ searched }) => words.every((word) => searched.includes(word)))
      .map((section) => {
        const title = section.title.toLowerCase();
        return { guide, section, inTitle: words.filter((word) => title.includes(word)).length };
      }),
  );
  return found
    .sort((a, b) => b.inTitle - a.inTitle)
    .slice(0, MAX_RESULTS)
    .map(({ guide, section: { anchor, title, text } }) => {
      return { href: `${guide.path}#${anchor}`, guide: guide.title, title, excerpt: excerptOf(text, words) };
    });
}

/** The part of a text around the first word of the query in it, with all words of the query marked. */
function excerptOf(text: string, words: readonly string[]): Html {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length);
  const start = first === text.length ? 0 : Math.max(0, text.lastIndexOf(" ", Math.max(0, first - 60)));
  const part = text.slice(start, start + EXCERPT_LENGTH);
  const escaped = words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pieces = part.split(new RegExp(`(${escaped.join("|")})`, "gi"));
  const marked = pieces.map((piece, i) => (i % 2 === 1 ? html`<mark>${piece}</mark>` : html`${piece}`));
  return html`${start > 0 ? "… " : ""}${marked}${start + EXCERPT_LENGTH < text.length ? " …" : ""}`;
}
