export interface Case {
  readonly source: string;
  readonly code?: string;
  readonly text: string;
  readonly line: number;
  readonly says: string;
}

/** What the compilers and runtimes of the image write, without the frames of their own libraries. */
export const COMPILER_OUTPUTS: Readonly<Record<string, Case>> = {
  "c compile": {
    source: "main.c",
    text: `main.c: In function ‘main’:
main.c:5:3: error: expected ‘,’ or ‘;’ before ‘prinf’
    5 |   prinf("%d", y);
      |   ^~~~~
`,
    line: 5,
    says: "error: expected",
  },
  "c link": {
    source: "main.c",
    code: "int missing(int);\n\nint main(void) {\n  return missing(1);\n}\n",
    text: `mold: error: undefined symbol: missing
>>> referenced by main.c
>>>               /tmp/main.o:(main)
`,
    line: 4,
    says: "undefined symbol: missing",
  },
  "c assert": {
    source: "main.c",
    text: `main: main.c:3: main: Assertion \`1 == 2' failed.
`,
    line: 3,
    says: "Assertion",
  },
  "cpp compile": {
    source: "main.cpp",
    text: `main.cpp: In function ‘int main()’:
main.cpp:4:5: error: ‘class std::vector<int>’ has no member named ‘push_front’
    4 |   v.push_front(1);
      |     ^~~~~~~~~~
`,
    line: 4,
    says: "push_front",
  },
  "go compile": {
    source: "main.go",
    text: `main.go:3:8: "os" imported and not used
main.go:6:2: declared and not used: x
main.go:7:2: undefined: y
`,
    line: 3,
    says: "imported and not used",
  },
  "go panic": {
    source: "main.go",
    text: `panic: runtime error: index out of range [5] with length 1

goroutine 1 [running]:
main.at(...)
	/box/main.go:4
main.main()
	/box/main.go:8 +0x18
`,
    line: 4,
    says: "index out of range",
  },
  "go nil": {
    source: "main.go",
    text: `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x468f70]

goroutine 1 [running]:
main.main()
	/box/main.go:7 +0x10
`,
    line: 7,
    says: "nil pointer",
  },
  "java compile": {
    source: "Main.java",
    text: `Main.java:3: error: ';' expected
    int x = "a"
               ^
1 error
`,
    line: 3,
    says: "';' expected",
  },
  "java throw": {
    source: "Main.java",
    text: `Exception in thread "main" java.lang.ArithmeticException: / by zero
	at Main.half(Main.java:3)
	at Main.main(Main.java:6)
`,
    line: 3,
    says: "ArithmeticException",
  },
  "javascript syntax": {
    source: "main.js",
    text: `/box/main.js:2
function (
^^^^^^^^

SyntaxError: Function statements require a function name
`,
    line: 2,
    says: "SyntaxError",
  },
  "javascript throw": {
    source: "main.js",
    text: `/box/main.js:2
  return missing.thing;
  ^

ReferenceError: missing is not defined
    at f (/box/main.js:2:3)
    at Object.<anonymous> (/box/main.js:4:1)
`,
    line: 2,
    says: "missing is not defined",
  },
  "python syntax": {
    source: "main.py",
    text: `  File "/box/main.py", line 1
    def f(:
          ^
SyntaxError: invalid syntax
`,
    line: 1,
    says: "invalid syntax",
  },
  "python throw": {
    source: "main.py",
    text: `Traceback (most recent call last):
  File "/box/main.py", line 6, in <module>
    f("{")
    ~^^^^^
  File "/box/main.py", line 4, in f
    return json.loads(x)
           ~~~~~~~~~~^^^
  File "/usr/lib/python3.13/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
           ~~~~~~~~~~~~~~~~~~~~~~~^^^
  File "/usr/lib/python3.13/json/decoder.py", line 345, in decode
    obj, end = self.raw_decode(s, idx=_w(s, 0).end())
               ~~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.13/json/decoder.py", line 361, in raw_decode
    obj, end = self.scan_once(s, idx)
               ~~~~~~~~~~~~~~^^^^^^^^
json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
`,
    line: 4,
    says: "JSONDecodeError",
  },
  "python own": {
    source: "main.py",
    text: `Traceback (most recent call last):
  File "/box/main.py", line 7, in <module>
    g()
    ~^^
  File "/box/main.py", line 5, in g
    raise Bad("no")
Bad: no
`,
    line: 5,
    says: "Bad: no",
  },
  "python chained": {
    source: "main.py",
    text: `Traceback (most recent call last):
  File "/box/main.py", line 2, in <module>
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/box/main.py", line 4, in <module>
    int("x")
    ~~~^^^^^
ValueError: invalid literal for int() with base 10: 'x'
`,
    line: 4,
    says: "ValueError",
  },
  "rust compile": {
    source: "main.rs",
    text: `error[E0425]: cannot find value \`y\` in this scope
 --> main.rs:3:20
  |
3 |     println!("{}", y);
  |                    ^ help: a local variable with a similar name exists: \`x\`

error[E0308]: mismatched types
 --> main.rs:2:18
  |
2 |     let x: i32 = "a";
  |            ---   ^^^ expected \`i32\`, found \`&str\`
  |            |
  |            expected due to this

error: aborting due to 2 previous errors

Some errors have detailed explanations: E0308, E0425.
For more information about an error, try \`rustc --explain E0308\`.
`,
    line: 3,
    says: "cannot find value",
  },
  "rust panic": {
    source: "main.rs",
    text: `
thread 'main' panicked at main.rs:3:21:
index out of bounds: the len is 0 but the index is 1
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace
`,
    line: 3,
    says: "index out of bounds",
  },
  "typescript compile": {
    source: "main.ts",
    text: `main.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
main.ts(2,1): error TS2304: Cannot find name 'missing'.
`,
    line: 1,
    says: "TS2322",
  },
  "typescript throw": {
    source: "main.ts",
    text: `/box/main.ts:3
  return a.b.toFixed().length;
           ^

TypeError: Cannot read properties of undefined (reading 'b')
    at f (/box/main.ts:3:12)
    at Object.<anonymous> (/box/main.ts:5:1)
`,
    line: 3,
    says: "Cannot read properties",
  },
};
