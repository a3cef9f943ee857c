import { UnstyledButton } from "@mantine/core";
import type { ComponentProps } from "react";
import { Icon } from "../components/icon.tsx";
import css from "./person-menu.module.css";

type Props = { readonly name: string } & Omit<ComponentProps<"button">, "name">;

export function PersonButton({ name, ...button }: Props) {
  return (
    <UnstyledButton className={css.target} aria-haspopup="menu" {...button}>
      <Icon name="person" />
      <span className={css.name}>{name}</span>
    </UnstyledButton>
  );
}
