import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { prose, ROOT, read } from "../../support/repo/documents.ts";

export interface Giveaway {
  readonly pattern: RegExp;
  /** What a native technical writer uses instead. */
  readonly plain: string;
  /** A text in the dialect that the pattern finds, and the same in plain English. */
  readonly example: readonly [dialect: string, plain: string];
}

/** Words and phrases that give the dialect away. */
export const GIVEAWAYS: readonly Giveaway[] = [
  {
    pattern: /\b(?:somebody|someone|nobody|no one|whoever|whomever|everybody)\b/i,
    plain: "the actor: the client, the operator, a process",
    example: ["Nobody says again what was sent.", "Notifications are not repeated."],
  },
  {
    pattern: /\b(?:(?:for|from|by|to|of|those|him|he|one|all) who|from whom|who says)\b/i,
    plain: "the actor: the client, the holder, the process",
    example: ["taken back from who held it", "lease expired, requeued"],
  },
  {
    pattern:
      /(?:^|[.;] )(?:whatever\b|(?:who|what) (?!to\b|is\b|was\b|counts\b)[^.?;]* (?:is|are|was|were|has|does|did|goes|stays|must|may|can|cannot)\b)(?![^.]*\?)/i,
    plain: "a noun as the subject",
    example: ["What an administrator has given a key stays.", "Member edits keep administrator-granted settings."],
  },
  {
    pattern: /\banother's\b|\bno other's\b|\bthe others?'s?(?= \w)/i,
    plain: "the owner: of another account",
    example: ["It reads another's records.", "It reads records of another account."],
  },
  {
    pattern: /\b(?:the )?ones? that\b|\bthat (?:is|are|was|were) none\b|\bof none\b/i,
    plain: "the noun, or an adjective",
    example: ["numbers that are none are refused", "rejects non-numeric values"],
  },
  {
    pattern: /, too\b(?! (?:many|much|large|small|long|late|early))/i,
    plain: "also, as well",
    example: ["The others are refused, too.", "The others are also rejected."],
  },
  {
    pattern:
      /\b(?:says?|tells?|said) (?:so|aloud|it|again|no|nothing|which|where|why|what|that it|the (?:same|reason))\b/i,
    plain: "prints, logs, returns, reports, documents",
    example: ["The doctor says so.", "The doctor reports it."],
  },
  {
    pattern: /\b(?:is|are|was|were|be|as|been) told\b|\btells\b|\btelling\b/i,
    plain: "reports, returns, prints, is documented",
    example: ["It waits as told.", "It waits as documented."],
  },
  {
    pattern: /\bhears?\b|\bheard\b/i,
    plain: "receives, is notified",
    example: ["A worker hears of it.", "A worker is notified."],
  },
  {
    pattern: /\b(?:is|are|was|were|be) there\b(?! (?:is|are|was|were|a|an|no|any)\b)/i,
    plain: "exists, is present",
    example: ["once the file is there", "once the file exists"],
  },
  {
    pattern: /\bstands? (?:there|here|in|beside|above|below|for itself)\b|\bas (?:it|they) stands?\b/i,
    plain: "is in, is documented in, as is",
    example: ["Why stands in README.md.", "README.md has the reason."],
  },
  {
    pattern: /\b(?:takes?|taken|took|gives?|given|gave) back\b/i,
    plain: "requeue, release, return",
    example: ["Its work is taken back.", "Its work is requeued."],
  },
  {
    pattern: /\b(?:is|are|was|were) (?:gone|away)\b/i,
    plain: "has ended, no longer exists, is unavailable",
    example: ["while PostgreSQL is gone", "while PostgreSQL is unavailable"],
  },
  {
    pattern: /\bgo(?:es)? on\b|\bwent on\b/i,
    plain: "continues",
    example: ["All of it goes on.", "Everything continues."],
  },
  {
    pattern: /\bwh(?:at|o)(?:so)?ever\b/i,
    plain: "regardless of, any, all",
    example: ["It is MLE, whatever its parent does.", "It is MLE regardless of its parent."],
  },
  {
    pattern: /\b(?:throws?|thrown|threw) away\b/i,
    plain: "discard",
    example: ["The slot is thrown away.", "The slot is discarded."],
  },
  {
    pattern: /\bbeside\b/i,
    plain: "alongside, next to, in addition to, while",
    example: ["It runs beside a busy account.", "It runs alongside a busy account."],
  },
  {
    pattern: /\b(?:anew|afresh|once more|thereof|therein|whereof|ere|lest)\b/i,
    plain: "again, of it, in it",
    example: ["It is made once more.", "It is repeated."],
  },
  {
    pattern: /\band (?:no|none) others?(?=[.,;:]| (?:is|are|was|were)\b|$)/i,
    plain: "only",
    example: ["It is found by its name, and no other is.", "Only it is found by name."],
  },
  {
    pattern: /\bwithout end\b|\bmany a\b|\btoo many a\b/i,
    plain: "endless, many",
    example: ["It forks without end.", "It forks endlessly."],
  },
  {
    pattern: /\bspoils?\b|\b(?:can|could) be had\b|\bto be had\b/i,
    plain: "invalidates, is available",
    example: ["One answer spoils them all.", "Any disallowed address blocks the delivery."],
  },
  {
    pattern: /\b(?:is|are|was|were|be) (?:tried|wanted|asked for|thought of|let in|let go)\b/i,
    plain: "is tested, is requested, is accepted, is released",
    example: ["Each row is tried.", "Each row is tested."],
  },
  {
    pattern: /\b(?:meets?|met) (?:its|the|a) limits?\b|\bnothing of (?:it|its|them|itself)\b/i,
    plain: "reaches the limit, nothing",
    example: ["It met its limit.", "It reached its limit."],
  },
  {
    pattern: /\bforeign (?!keys?\b)/i,
    plain: "other, external, third-party",
    example: ["It parses foreign bytes.", "It parses untrusted bytes."],
  },
  {
    pattern: /\b(?:looks?|speaks?|answers?) for (?:itself|themselves|himself)\b|\bthat (?:he|she) lives\b/i,
    plain: "queries again, sends a heartbeat",
    example: ["A worker says that he lives.", "A worker sends a heartbeat."],
  },
];

export interface Text {
  /** Path and, for titles and strings, their kind. */
  readonly from: string;
  readonly text: string;
}

const SKIPPED = new Set(["node_modules", ".git", "coverage"]);

/** Paths of all files below a directory of the project. */
export function files(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const path = relative(ROOT, join(ROOT, directory, entry.name));
    return entry.isDirectory() ? files(path) : [path];
  });
}

const HASH_COMMENTS = /\.(?:sh|yml)$/;
const SLASH_COMMENTS = /\.(?:tsx?|mjs|c|h|def|css)$/;

/** All texts of the project: Markdown, comments, titles of tests, and strings of the user interface. */
export function texts(): Text[] {
  const isTest = (path: string) => path.endsWith(".test.ts");
  const isUi = (path: string) => /^dashboard\/src\/.*\.tsx?$/.test(path) && !isTest(path);
  return files(".").flatMap((from) => {
    if (/\.(?:png|svg|json|tsv|sql)$/.test(from)) return [];
    const source = read(from);
    if (from.endsWith(".md")) return sentences(from, source);
    const found = [
      ...(HASH_COMMENTS.test(from) || source.startsWith("#!/bin/sh") ? hashComments(source) : []),
      ...(SLASH_COMMENTS.test(from) ? slashComments(source) : []),
      ...(isTest(from) ? titles(source) : []),
      ...(isUi(from) ? strings(source) : []),
    ];
    return found.map((text) => ({ from, text }));
  });
}

const withoutCode = (text: string) =>
  text
    .replaceAll(/`[^`]*`/g, "`…`")
    .replaceAll(/\s+/g, " ")
    .trim();

/** Comments of shell scripts; consecutive lines are one text. */
export function hashComments(source: string): string[] {
  const blocks = source.matchAll(/(?:^[ \t]*#(?: .*)?\n)+/gm);
  return [...blocks].map(([block]) => withoutCode(block.replaceAll(/^[ \t]*# ?/gm, "")));
}

/** Comments of C, TypeScript and CSS; consecutive lines are one text. */
export function slashComments(source: string): string[] {
  const blocks = source.matchAll(/(?<=^|[\s;{(,])\/\*+([\s\S]*?)\*\//g);
  const lines = source.split("\n").map((line) => {
    const [before = "", ...comment] = line.split("// ");
    return /["'`:]$|["'`].*[^\s;{(,]$/.test(before) ? "\n" : comment.join("// ") || "\n";
  });
  return [
    ...[...blocks].map(([, text = ""]) => withoutCode(text.replaceAll(/^\s*\* ?/gm, ""))),
    ...lines.join(" ").split("\n").map(withoutCode).filter(Boolean),
  ];
}

/** Cells, list items and paragraphs of a document, without code. */
export function sentences(from: string, markdown: string): Text[] {
  const plain = prose(markdown).replaceAll(/`[^`]*`/g, "`…`");
  const blocks = plain.split(/\n(?=\s*(?:[-*|#]|\d+\.) )|\n\s*\n|(?<!\\)\|/);
  return blocks.map((text) => ({
    from,
    text: text
      .replaceAll(/\s+/g, " ")
      .replace(/^ ?(?:[-*#]+|\d+\.) /, "")
      .trim(),
  }));
}

/** Titles of tests, template parameters left out. */
export function titles(source: string): string[] {
  const found = source.matchAll(/\b(?:test|describe|it)(?:\.\w+)?\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g);
  return [...found].map(([, , title = ""]) => title.replaceAll(/\$\{[^}]*\}/g, "…"));
}

/** String literals with a space, and text between tags. */
export function strings(source: string): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
  const literals = [...code.matchAll(/"((?:\\.|[^"\\\n])* (?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])* (?:\\.|[^`\\])*)`/g)];
  const between = [...code.matchAll(/>([^<>{}=;]*[a-z] [^<>{}=;]*)[<{]/g)];
  return [
    ...literals.map(([, quoted, template]) => quoted ?? template ?? ""),
    ...between.map(([, text = ""]) => text),
  ].map((text) =>
    text
      .replaceAll(/\$\{[^}]*\}/g, "…")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

/** Every giveaway in a text. */
export function giveaways({ from, text }: Text): string[] {
  return GIVEAWAYS.flatMap(({ pattern, plain }) => {
    const match = pattern.exec(text);
    if (match === null) return [];
    const around = text.slice(Math.max(0, match.index - 30), match.index + match[0].length + 30);
    return [`${from}: "${match[0].trim()}" in "${around}": use ${plain}`];
  });
}
