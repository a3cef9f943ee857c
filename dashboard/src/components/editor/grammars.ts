import type { Extension } from "@codemirror/state";

/** Functions that load the grammar of a built-in language. The first program in a language calls its function. */
const GRAMMARS: Readonly<Record<string, () => Promise<Extension>>> = {
  c: async () => (await import("@codemirror/lang-cpp")).cpp(),
  cpp: async () => (await import("@codemirror/lang-cpp")).cpp(),
  go: async () => (await import("@codemirror/lang-go")).go(),
  java: async () => (await import("@codemirror/lang-java")).java(),
  javascript: async () => (await import("@codemirror/lang-javascript")).javascript(),
  python: async () => (await import("@codemirror/lang-python")).python(),
  rust: async () => (await import("@codemirror/lang-rust")).rust(),
  typescript: async () => (await import("@codemirror/lang-javascript")).javascript({ typescript: true }),
};

/** @returns the grammar; an empty list for a language without one, whose programs are plain text. */
export async function grammarOf(language: string): Promise<Extension> {
  return (await GRAMMARS[language]?.()) ?? [];
}
