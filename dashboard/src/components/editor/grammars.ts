import type { Extension } from "@codemirror/state";
import { GRAMMAR_NAMES } from "./grammar-names.ts";

/** Functions that load a grammar, by the name that `grammar` in a file of languages/ has. The first program calls the function. */
const GRAMMARS: Readonly<Record<string, () => Promise<Extension>>> = {
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
  return (await GRAMMARS[GRAMMAR_NAMES[language] ?? ""]?.()) ?? [];
}
