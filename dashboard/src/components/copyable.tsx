import { ActionIcon } from "@mantine/core";
import css from "./copyable.module.css";
import { Icon } from "./icon.tsx";
import { toast, toastAtButton } from "./toaster.tsx";

/** Text with a button to copy it: an id, a URL, a secret. */
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
    // Without HTTPS, or without permission.
    toast(`The browser denies access to the clipboard. Select the ${what} and copy it by hand.`, "bad");
  }
}
