/** A text whose parts between backquotes are code. */
export function InlineCode({ text }: { text: string }) {
  return text.split("`").map((part, i) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the order of segments never changes
    i % 2 === 1 ? <code key={i}>{part}</code> : part,
  );
}
