import { ActionIcon } from "@mantine/core";
import css from "./copyable.module.css";
import { Icon } from "./icon.tsx";
import { toast } from "./toaster.tsx";

/** A text that people carry elsewhere: an id, a URL, a secret. */
export function Copyable({ text, what, short }: { text: string; what: string; short?: boolean }) {
  return (
    <span className={css.copyable}>
      <code className={short ? css.short : css.whole} title={short ? text : undefined}>
        {text}
      </code>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Copy ${what}`} onClick={() => copy(text, what)}>
        <Icon name="copy" size={15} />
      </ActionIcon>
    </span>
  );
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied: ${what}.`);
  } catch {
    // Without HTTPS, or when the browser was told to refuse.
    toast(`The browser does not let this page copy. Select the ${what} and copy it by hand.`, "bad");
  }
}
