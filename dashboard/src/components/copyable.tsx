import { ActionIcon } from "@mantine/core";
import css from "./copyable.module.css";
import { Icon } from "./icon.tsx";
import { toast, toastAtButton } from "./toaster.tsx";

/** A text with a button that copies it, such as an id or a URL. @param what The name of the text in labels and messages. */
export function Copyable({ text, what, short }: { text: string; what: string; short?: boolean }) {
  return (
    <span className={css.copyable}>
      <code className={short ? css.shortened : css.wrapped} title={short ? text : undefined}>
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
    toastAtButton("Copied");
  } catch {
    // The clipboard needs HTTPS and the permission of the person.
    toast(`The browser denies access to the clipboard. Select the ${what} and copy it by hand.`, "bad");
  }
}
