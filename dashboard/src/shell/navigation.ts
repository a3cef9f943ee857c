import type { LinkProps } from "@tanstack/react-router";
import type { IconName } from "../components/icon.tsx";

interface NavigationItem {
  readonly icon: IconName;
  readonly label: string;
  readonly to: NonNullable<LinkProps["to"]>;
  readonly forAdministrators?: true;
}

/** The navigation, in groups. A new page needs a route in routes.tsx, and a line here if the navigation shows it. */
export const NAVIGATION: readonly { readonly label: string; readonly items: readonly NavigationItem[] }[] = [
  {
    label: "Runs",
    items: [
      { icon: "overview", label: "Overview", to: "/" },
      { icon: "list", label: "Submissions", to: "/submissions" },
      { icon: "judge", label: "Judgements", to: "/judgements" },
      { icon: "problem", label: "Problems", to: "/problems" },
      { icon: "play", label: "Playground", to: "/playground" },
    ],
  },
  {
    label: "Access",
    items: [
      { icon: "projects", label: "Projects", to: "/projects" },
      { icon: "key", label: "API keys", to: "/keys" },
      { icon: "webhook", label: "Webhooks", to: "/webhooks" },
    ],
  },
  {
    label: "Workers",
    items: [
      { icon: "languages", label: "Languages", to: "/languages" },
      { icon: "nodes", label: "Nodes", to: "/nodes" },
    ],
  },
  {
    label: "Administration",
    items: [
      { icon: "members", label: "Members", to: "/members" },
      { icon: "audit", label: "Audit trail", to: "/audit" },
      { icon: "settings", label: "Settings", to: "/settings", forAdministrators: true },
    ],
  },
];
