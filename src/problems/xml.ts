import sax from "sax";
import { PackageError, type PackageFiles, sizeOf } from "./files.ts";

/** Within these bounds, the slowest hostile content that is known takes 0.3 s. */
const MAX_BYTES = 1_048_576;
const MAX_ELEMENTS = 20_000;
const MAX_ATTRIBUTES = 60_000;
const MAX_DEPTH = 32;

/** An element of an XML file. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The text directly in the element, without white space at both ends. */
  readonly text: string;
  readonly line: number;
}

interface OpenElement extends XmlElement {
  readonly attributes: Map<string, string>;
  readonly children: XmlElement[];
  text: string;
}

/**
 * Reads an XML file in UTF-8. A document type is refused, because only such a declaration can define entities, which could multiply a small
 * file or name others. @returns undefined if the package has no such file. @throws PackageError with the line of the first fault.
 */
export function readXml(files: PackageFiles, path: string): XmlElement | undefined {
  const size = sizeOf(files, path);
  if (size === undefined) return undefined;
  if (size > MAX_BYTES) throw new PackageError(path, `an XML file has at most ${MAX_BYTES} bytes`);
  const text = decoded(files.get(path) as Buffer, path);
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions);
  const fail = (message: string) => new PackageError(path, message, parser.line + 1);
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  let [elements, attributes] = [0, 0];
  parser.onerror = ({ message }) => {
    throw fail(message.split("\n")[0] ?? "");
  };
  parser.ondoctype = () => {
    throw fail("has a document type, which is not supported");
  };
  // Called before the attributes of the element are read, so that none of them is read beyond the bounds.
  parser.onopentagstart = ({ name }) => {
    if (++elements > MAX_ELEMENTS) throw fail(`has more than ${MAX_ELEMENTS} elements`);
    if (open.length === MAX_DEPTH) throw fail("is nested too deep");
    const element = { name, attributes: new Map<string, string>(), children: [], text: "", line: parser.line + 1 };
    if (open.length === 0) {
      if (root) throw fail("has more than one root element");
      root = element;
    }
    open.at(-1)?.children.push(element);
    open.push(element);
  };
  parser.onattribute = ({ name, value }) => {
    if (++attributes > MAX_ATTRIBUTES) throw fail(`has more than ${MAX_ATTRIBUTES} attributes`);
    open.at(-1)?.attributes.set(name, value);
  };
  const addText = (more: string) => {
    const element = open.at(-1);
    if (element) element.text += more;
  };
  parser.ontext = addText;
  parser.oncdata = addText;
  parser.onclosetag = () => {
    const element = open.pop();
    if (element) element.text = element.text.trim();
  };
  parser.write(text).close();
  if (!root) throw fail("has no element");
  return root;
}

function decoded(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new PackageError(path, "is not text in UTF-8");
  }
}

/** The first child element with this name. */
export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((child) => child.name === name);
}

/** The elements named `name` in the first child named `list`. */
export function listOf(element: XmlElement | undefined, list: string, name: string): readonly XmlElement[] {
  return childOf(element, list)?.children.filter((child) => child.name === name) ?? [];
}
