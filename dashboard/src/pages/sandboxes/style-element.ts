/**
 * Takes the place of a style element whose text a library sets, because the content security policy of the page forbids those: a constructed
 * style sheet, with an element that shows nothing.
 */
export function styleElement(): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const element = document.createElement("template");
  Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
