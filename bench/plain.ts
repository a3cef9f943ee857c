/**
 * Commands as a user would type them: with `-O2` or `-O` for C, C++ and Rust, otherwise with the compilers' default flags, and for C++
 * with the standard that the service offers. They run in a directory that at first has only the source.
 */
export interface Plain {
  readonly compile: readonly (readonly string[])[];
  /** Files that the compile commands leave for the execution; `?` marks those that only some programs have. */
  readonly artifacts: readonly string[];
  readonly execute: readonly string[];
}

const NATIVE = { artifacts: ["main"], execute: ["./main"] };
const NODE = "/opt/assay/node/node";

/** The commands of each language, with absolute paths in the image. The image has files at fixed places that Go and TypeScript need. */
export const PLAIN: Readonly<Record<string, Plain>> = {
  c: { ...NATIVE, compile: [["/usr/bin/gcc", "-O2", "-o", "main", "main.c"]] },
  cpp: { ...NATIVE, compile: [["/usr/bin/g++", "-std=gnu++20", "-O2", "-o", "main", "main.cpp"]] },
  go: {
    ...NATIVE,
    compile: [
      [
        ...["/opt/assay/go/tool/compile", "-p", "main", "-complete", "-pack"],
        ...["-importcfg", "/opt/assay/go/compile.cfg", "-o", "main.a", "main.go"],
      ],
      ["/opt/assay/go/tool/link", "-importcfg", "/opt/assay/go/link.cfg", "-o", "main", "main.a"],
    ],
  },
  java: {
    compile: [["/usr/bin/javac", "Main.java"]],
    artifacts: ["Main.class", ...["Edge", "Entry", "Parser", "Random"].map((name) => `Main$${name}.class?`)],
    execute: ["/usr/bin/java", "Main"],
  },
  javascript: { compile: [], artifacts: [], execute: [NODE, "main.js"] },
  python: { compile: [], artifacts: [], execute: ["/usr/bin/python3", "-I", "main.py"] },
  rust: { ...NATIVE, compile: [["/usr/bin/rustc", "-O", "-o", "main", "main.rs"]] },
  typescript: {
    compile: [
      [
        ...["/opt/assay/typescript/lib/tsc", "--ignoreConfig", "--skipLibCheck"],
        ...["--module", "commonjs", "--moduleDetection", "force"],
        ...["--types", "node", "--typeRoots", "/opt/assay/typescript/node_modules/@types", "main.ts"],
      ],
    ],
    artifacts: ["main.js"],
    execute: [NODE, "main.js"],
  },
};
