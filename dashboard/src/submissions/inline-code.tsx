/** A sentence of the service, in which what is meant literally stands between backquotes. */
export function InlineCode({ text }: { text: string }) {
  return text.split("`").map((part, i) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a sentence has no other order than its own
    i % 2 === 1 ? <code key={i}>{part}</code> : part,
  );
}
