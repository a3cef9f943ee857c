import type { LinkProps } from "@tanstack/react-router";
import type { IconName } from "../pieces/icon.tsx";

interface Place {
  readonly icon: IconName;
  readonly label: string;
  readonly to: NonNullable<LinkProps["to"]>;
  readonly forAdministrators?: true;
}

/** What the navigation offers, in groups: a page is a line here and one in routes.tsx. */
export const NAVIGATION: readonly { readonly label: string; readonly places: readonly Place[] }[] = [
  {
    label: "Engine",
    places: [{ icon: "nodes", label: "Nodes", to: "/nodes" }],
  },
];
