// Generated from languages/: npm run generate.

/** The names of grammars by language. */
export const GRAMMAR_NAMES: Readonly<Record<string, string>> = {
  c: "cpp",
  cpp: "cpp",
  go: "go",
  java: "java",
  javascript: "javascript",
  python: "python",
  rust: "rust",
  typescript: "typescript",
  c11: "cpp",
  c23: "cpp",
  cclang: "cpp",
  cpp17: "cpp",
  cpp23: "cpp",
  cppclang: "cpp",
  cpptestlib: "cpp",
};
