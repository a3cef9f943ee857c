import assert from "node:assert/strict";
import { test } from "node:test";
import { childOf, listOf, readXml } from "../../../src/problems/xml.ts";

const read = (text: string | Buffer) => readXml(new Map([["a.xml", Buffer.from(text)]]), "a.xml");

test("an XML file is a tree of elements with lines", () => {
  const root = read(
    '\uFEFF<?xml version="1.0" encoding="utf-8"?>\n<a x="1 &lt; 2">\n <b/>\n <b> t<![CDATA[<]]>&amp; </b></a>\n',
  );
  assert.deepEqual([root?.name, root?.line, root?.attributes.get("x")], ["a", 2, "1 < 2"]);
  assert.deepEqual(
    root?.children.map(({ name, line, text }) => [name, line, text]),
    [
      ["b", 3, ""],
      ["b", 4, "t<&"],
    ],
  );
  assert.equal(childOf(root, "b")?.line, 3);
  assert.deepEqual(listOf(root, "c", "b"), []);
  assert.equal(readXml(new Map(), "a.xml"), undefined);
});

test("names of properties of objects are usual names of attributes", () => {
  assert.deepEqual(
    [...(read('<a __proto__="x" constructor="y"/>')?.attributes ?? [])],
    [
      ["__proto__", "x"],
      ["constructor", "y"],
    ],
  );
});

const LAUGHS = Array.from({ length: 9 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join("");
const WRONG: Readonly<Record<string, readonly [text: string | Buffer, message: RegExp]>> = {
  "entities that multiply": [`<!DOCTYPE a [<!ENTITY l0 "ha">${LAUGHS}]><a>&l9;</a>`, /^a\.xml:1: has a document type/],
  "an entity that names a file": [
    '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>',
    /has a document type/,
  ],
  "a document type outside": ['<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><a/>', /has a document type/],
  "an entity that is not known": ["<a>\n&nbsp;</a>", /^a\.xml:2: /],
  "too many bytes": [`<a>${" ".repeat(1_048_576)}</a>`, /^a\.xml: an XML file has at most 1048576 bytes$/],
  "too many elements": [`<a>${"<b/>".repeat(20_000)}</a>`, /has more than 20000 elements$/],
  "too many attributes": [
    `<a>${`<b ${"abcdefghij"
      .split("")
      .map((name) => `${name}=''`)
      .join(" ")}/>`.repeat(6_001)}</a>`,
    /has more than 60000 attributes$/,
  ],
  "deep elements": ["<a>".repeat(300_000), /is nested too deep$/],
  "an element that is open": ["<a>", /^a\.xml:1: Unclosed root tag$/],
  "elements that overlap": ["<a><b></a></b>", /^a\.xml:1: Unexpected close tag$/],
  "two roots": ["<a/><b/>", /has more than one root element$/],
  "text after the root": ["<a/>b", /Text data outside of root node\.$/],
  "no element": ["", /^a\.xml:1: has no element$/],
  "no text": [Buffer.from([0x3c, 0x61, 0xff, 0x2f, 0x3e]), /^a\.xml: is not text in UTF-8$/],
  "UTF-16": [Buffer.from("<a/>", "utf16le"), /^a\.xml/],
};

for (const [what, [text, message]] of Object.entries(WRONG))
  test(`an XML file with ${what} is refused`, () => {
    assert.throws(() => read(text), { name: "PackageError", message });
  });
